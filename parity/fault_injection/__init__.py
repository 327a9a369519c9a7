"""Injects catalogued faults into a port and checks which causes the diagnosis names.

Here: trials of single faults and of pairs. Not here: the faults themselves (`parity.causes`).
Start with `trial.py`."""
