"""Finds what a program ran of its saved graph: train ops, the ops fetched beside them, and the values of switches.

Here: runs, whether the graph or a recording beside it tells them. Not here: reading and cutting the graph
(`legacy.saved.graph`), and what an op means to training (`legacy.saved.analysis`).
Start with `train_ops.py`, then `beside.py`."""
