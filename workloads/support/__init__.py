"""Helpers of the commands, which know nothing of training.

Here: `errors` and `wording`, which everything may import; `command_line`, `files`, `processes`, `machine` (devices,
memory, environment) and `user` (the user's own code). Not here: anything that a workload's author imports.
Start with `errors.py` and `command_line/command.py`."""
