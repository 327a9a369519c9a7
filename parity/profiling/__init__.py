"""Profiles of a training step: where its time goes on each side, and its floor.

Here: kernel events of both sides, their kinds, and the time that a step's products need by themselves.
Not here: speed ratios (`parity.speed`), tables (`parity.reports`).
Start with `step_profile.py`, then `side_profiles.py`.
"""
