"""Measures speed and memory: interleaved timing, peak memory, device traces.

Here: measurements and their statistics. Not here: tables (`parity.reports`).
Start with `timing.py` and `ratio.py`, then `measurement.py`."""
