"""Mutation coverage: for every choice that a job makes, whether its comparison would have detected another one.

Here: the mutants of a job, the states that a comparison visits to expose them, and the measurement. Not here: the
comparison itself (`parity.comparison`), and which cause a difference has (`parity.causes`).
Start with `measurement.py`, then `mutant.py`.
"""
