"""Reads saved graphs and extracts the subgraph that a training step runs; its loops and variables.

Here: general graph operations. Not here: what a program ran of a graph (`legacy.saved.runs`), and what
a node means to training (`legacy.saved.analysis`).
Start with `graph_file.py`, then `cone.py`."""
