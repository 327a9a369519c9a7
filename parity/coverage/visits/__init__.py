"""Visits: states, besides the run's own, from which both sides take a step, so that mutants can be seen.

Here: the visits of a job, of a lifted graph, and of the branches of its conditions. Not here: which mutants were seen
(`parity.coverage.measuring`). Start with `job_visits.py`, then `lifted_visits.py`.
"""
