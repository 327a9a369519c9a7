"""Helpers of the commands: child processes, devices, environment, errors, help, JSON files.

Here: what knows nothing of training. Not here: anything that a workload's author imports.
Start with `errors.py`."""
