"""Hazards of what layers are joined with: the same tensor again, in place of that of an earlier layer.

Here: what a concatenation of layers' results joins. Not here: rows of different examples that a loss pairs, in `data`.
Start with `joined_with_itself.py`.
"""
