"""Divides a step into the towers' own functions and the function that is computed once, from all towers' results.

Here: the nodes of each tower, the tensors that enter and leave the towers, and tensors of two towers that match. Not
here: the combining of the tensors that leave (`legacy.saved.analysis.reduction`).
Start with `parts.py`.
"""
