"""Logits of classes: what they are made of, but for margins of the true class.

Here: what checks of `models` ask. Not here: any check.
Start with `margins.py`."""
