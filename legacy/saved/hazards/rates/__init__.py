"""Hazards of learning-rate schedules: what they count, and schedules that never move or that no update takes.

Not here: the values that rates have (`legacy.saved.hazards.updates`).
Start with `schedules.py`; `legacy.saved.hazards.search` lists the checks, in the order of the page."""
