"""Finds the towers of a saved graph: the copies of the model, one a device, that share its variables.

Here: the search by device, name scope and name suffix, and the data flow of towers. Not here: what enters the towers
(`legacy.saved.inputs`), what they compute and how they are combined (`legacy.saved.analysis`).
Start with `search.py`."""
