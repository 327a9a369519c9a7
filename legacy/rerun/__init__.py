"""A saved graph run as it is, in a session, and the recordings of its original runs.

Here: programs that replay what an old program did. Not here: analysis of the graph (`legacy.saved`).
Start with `program.py`."""
