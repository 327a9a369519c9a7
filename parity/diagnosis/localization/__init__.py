"""Localization: the variables and the steps in which one stage of the right side is not what it should be.

Here: which variables deviate in which steps, stage by stage; evidence of these variables and steps alone. Not here: by
how much a tensor is off (`parity.diagnosis.stage_checks`), and why (`parity.causes`). Start with `extents.py`.
"""
