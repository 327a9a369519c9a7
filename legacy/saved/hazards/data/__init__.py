"""Hazards of how data and random numbers reach the towers.

Here: parts of different examples in one loss, rows that towers share or leave out, equal seeds. Not here: targets,
dropout and sums over examples, one folder up.
Start with `pairs.py`."""
