"""Finds made-up data that a lifted graph runs with, by trying.

Here: the search, the runs, and the sizes that errors suggest. Not here: drawing the values
(`workloads.lifted.made_up_data`).
Start with `fitting.py`."""
