"""Commands that qualify this project rather than serve a user: fault injection, clean runs, sensitivity, survival, the study.

Here: commands only, each also under its old name, e.g. `python -m parity.faults`. Not here: their libraries.
Start with `faults.py` and `clean_runs.py`."""
