"""Hazards of what a step changes: gradients and weights, and what it keeps for later steps.

Here: checks of gradients as they are applied, weights, sums of gradients and states. Not here: batch statistics and
schedules, one folder up.
Start with `gradients.py`."""
