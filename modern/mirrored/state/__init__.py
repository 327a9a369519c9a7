"""The variables of a program on every replica, and the rules that update them: optimizers and moving averages.

Here: copies of a `State`, 1.x's kernels and Keras 3's optimizers behind one interface. Not here: gradients
(`modern.mirrored.step`). Start with `variables.py`, then `update_rules.py`.
"""
