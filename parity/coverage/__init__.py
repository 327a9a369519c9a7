"""Mutation coverage: for every choice that a job makes, whether its comparison would have detected another one.

Here: what a mutant is, and the compared steps and formulas that mutants are computed from. `mutants` changes the
choices that a job names, `graph` the constants of a graph, `visits` makes the states that a comparison visits to expose
them, and `measuring` keeps which of them it would have detected. Not here: the comparison itself (`parity.comparison`),
and which cause a difference has (`parity.causes`). Start with `mutant.py`, then `measuring/measurement.py`.
"""
