"""Combining of the towers' gradients in a training step: rows of the page, and sentences on sums and unequal means.

Here: kinds, scales and clipping of gradients on their way to an update. Not here: how they are recognised
(`analysis/reduction`). Start with `rows.py`, then `words.py`."""
