"""Measures speed and memory: interleaved timing, peak memory, device traces.

Here: measurement and its statistics. Not here: tables (`parity.reports`).
Start with `timing.py`, then `measurement.py`."""
