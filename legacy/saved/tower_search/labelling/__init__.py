"""Candidate labellings of a graph's nodes with tower numbers: by devices, names, or backward passes.

Here: what may be towers. Not here: which labelling the data flow bears out (`legacy.saved.tower_search.search`).
Start with `labellings.py`.
"""
