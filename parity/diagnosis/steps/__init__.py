"""Steps of two programs, as a diagnosis keeps them: both records of a step, and the states that it was taken from.

Here: whether two records can be compared, and records kept in memory as a program. Not here: what is measured from them
(`parity.diagnosis.facts`). Start with `compared_step.py`.
"""
