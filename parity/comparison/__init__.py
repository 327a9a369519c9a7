"""Compares two programs step by step and tensor by tensor, and decides whether they are equal.

Here: the stages of a step, differences of tensors, the setup of both programs, the result; in `judging`, tolerances and
the noise floor; in `runs`, the comparison of whole runs. Not here: why programs differ (`parity.diagnosis`).
Start with `runs/verification.py`, then `judging/tolerance.py`."""
