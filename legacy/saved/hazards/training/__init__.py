"""Hazards of what a step trains: variables that it never trains, a step that trains nothing, changes in no order.

Not here: faults of the updates themselves (`legacy.saved.hazards.updates`).
Start with `untrained.py`; `legacy.saved.hazards.search` lists the checks, in the order of the page."""
