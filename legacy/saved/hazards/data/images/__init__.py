"""Ways of images through a graph, before the model takes them.

Here: what checks of `data` ask. Not here: any check.
Start with `loops.py`."""
