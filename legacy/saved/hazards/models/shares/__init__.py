"""Hazards of shares that add up to 1 along another axis than the one that they are added up along.

Here: attention weights. Not here: the masks of scores, in `attention`.
Start with `along_queries.py`."""
