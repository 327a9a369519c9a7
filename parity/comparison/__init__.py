"""Compares two programs step by step and tensor by tensor, and decides whether they are equal.

Here: differences, tolerances, noise floor, verdict. Not here: why programs differ (`parity.diagnosis`).
Start with `verification.py`, then `tolerance.py`."""
