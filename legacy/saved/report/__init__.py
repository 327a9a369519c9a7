"""Describes a saved program to people and as JSON: facts, hazards, the page of `legacy.inspect`.

Here: texts made from a finished analysis, or, for most hazards, from the graph alone. Nothing here changes a plan.
Start with `page.py`, then `facts.py` and `hazards.py`."""
