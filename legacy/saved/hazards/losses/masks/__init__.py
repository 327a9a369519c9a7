"""Hazards of masked losses: what they are divided by, and where the mask is applied.

Not here: inputs that hold lengths, and attention. Start with `masked_losses.py`."""
