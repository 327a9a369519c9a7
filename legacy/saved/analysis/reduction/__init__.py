"""Recognises how a program combines its towers' gradients: by a mean, a sum or a concatenation.

Here: where the towers' gradients meet, and the evaluation of that part of the graph. Not here: the towers themselves
(`legacy.saved.analysis.division`).
Start with `reduction_probe.py`.
"""
