"""Helpers of the commands: the command line, child processes, devices, environment, errors, JSON files.

Here: what knows nothing of training. Not here: anything that a workload's author imports.
Start with `command.py` and `errors.py`."""
