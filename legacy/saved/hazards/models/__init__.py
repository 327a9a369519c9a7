"""Hazards of how a model computes: outputs of recurrent loops, attention masks, norms, roots and logarithms.

Here: what the forward pass does wrong, whatever the loss is. Not here: losses and labels.
Start with `sequences.py`."""
