"""Localization: the variables and the steps in which one stage of the right side is not what it should be.

Here: which variables deviate in which steps, stage by stage; evidence of these variables and steps alone; the pattern
that a set of steps has. Not here: the reason (`parity.causes`). Start with `deviations.py`.
"""
