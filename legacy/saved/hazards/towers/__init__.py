"""Hazards of towers: what they share or keep apart, where they are placed, and which of them a summary shows.

Not here: how their gradients become one (`legacy.saved.hazards.combining`), and in what their losses differ
(`legacy.saved.hazards.asymmetries`).
Start with `shared.py`; `legacy.saved.hazards.search` lists the checks, in the order of the page."""
