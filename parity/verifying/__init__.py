"""The parts of `parity.verify` that need no flags: a comparison, the explanation of a difference, and their reports.

Here: what several commands do with two programs or two recordings. Not here: flags, and the comparison itself
(`parity.comparison`).
Start with `compare_programs.py`."""
