"""Hazards of losses: their terms and penalties, what makes logits, and what towers have in common in them.

Here: checks that read the graph of a loss. Not here: those of gradients, updates, inputs and statistics, one folder up.
Start with `terms.py`, then `penalties.py`."""
