"""Comparison of whole runs: steps both programs, and has every step judged.

Here: two programs side by side, and the three columns of a recorded run. Not here: what a difference may be
(`judging`).
Start with `verification.py`."""
