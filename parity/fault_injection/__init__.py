"""Injects catalogued faults into a port and checks which causes the diagnosis names.

Here: trials of single faults, of pairs, and of faults of speed. Not here: the faults themselves (`parity.causes`).
Start with `injected_faults.py`, then `trial.py`.
"""
