"""Hazards of what layers are joined with: the same tensor again, in place of another one, or a bias with a weight.

Here: what a concatenation of layers' results joins, and what is added to a layer's weight. Not here: rows of different
examples that a loss pairs, in `data`.
Start with `joined_with_itself.py`.
"""
