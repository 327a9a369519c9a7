"""Processes of a command: its own end, its isolation in a child, and child processes that end with it.

Here: what any command can use. Not here: processes of comparisons and trials, which are in `parity/processes`.
Start with `child_processes.py`."""
