"""Commands that qualify this project: fault injection, clean runs, sensitivity, survival, lost workers, the study.

Here: commands only, each also under its old name, e.g. `python -m parity.faults`. Not here: their libraries
(`parity.fault_injection`, `parity.experiments`, `parity.processes`).
Start with `faults.py` and `clean_runs.py`."""
