"""Reads and cuts saved graphs: the file, the part that a training step runs, loops, variables.

Here: general graph operations. Not here: what a node means to training (`legacy.saved.analysis`).
Start with `graph_file.py`, then `cone.py`."""
