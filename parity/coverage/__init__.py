"""Mutation coverage: for every choice that a job makes, whether its comparison would have noticed another one.

Here: the mutants of a job, the states that a comparison visits so that they show, and the measurement. Not here: the
comparison itself (`parity.comparison`), and which cause a difference has (`parity.causes`).
Start with `measurement.py`, then `mutant.py`.
"""
