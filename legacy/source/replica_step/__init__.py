"""Text of a replica's step, which both styles share: the functions of train ops, and the tables of their variables.

`train_op.py` writes a function, from the lines of the update (`legacy.source.update`) and those of `lines.py`.
"""
