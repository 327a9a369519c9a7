"""Judgement of differences: which are rounding, and which are failures.

Here: tolerances, the measured noise floor, the comparison of two step records. Not here: the steps that
make the records.
Start with `tolerance.py`, then `judge.py`."""
