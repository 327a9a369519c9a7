"""From two programs, or two recordings, to a verdict: the comparison, the explanation of a difference, the report.

Here: what several commands do with two programs or two recordings. Not here: flags, and the comparison itself
(`parity.comparison`).
Start with `compare_programs.py`."""
