"""Other numbers of towers than a graph has: what it tells of them, and where it does not tell enough.

Here: towers that differ, changes that each tower makes in turn, copies that each tower has, and constants that may
follow the number of towers.
Not here: multiples of sums and means, which are recognised (`legacy.saved.analysis.reduction`).
Start with `unlike_towers.py`.
"""
