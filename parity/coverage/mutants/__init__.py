"""Mutants of the choices that a job names, a file for each part of a step.

Here: input, combining and clipping, update, schedule, averages and statistics. Not here: constants of a graph
(`parity.coverage.graph`). Start with `native_mutants.py`.
"""
