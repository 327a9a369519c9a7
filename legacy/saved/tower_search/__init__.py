"""Finds the towers of a saved graph, and describes the inputs that enter them.

Here: the search by device, name scope and name suffix, and the inputs' shapes and bounds. Not here: what the towers
compute and how they are combined (`legacy.saved.analysis`).
Start with `search.py`, then `inputs.py`."""
