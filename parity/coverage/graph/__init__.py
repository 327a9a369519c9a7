"""Mutants of the constants of a training graph.

Here: the constants that a step depends on, the towers with one of them changed, and which constants cannot matter.
Not here: the mutants of what a workload names, such as its optimizer (the folder above).
Start with `mutants.py`, then `constants.py`.
"""
