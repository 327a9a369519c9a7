"""Measurement of a comparison's coverage while it runs.

Here: which mutants were seen, and the rule by which the comparison would have refused a changed tensor. Not here: the
mutants and visits, in the folders beside this one. Start with `measurement.py`.
"""
