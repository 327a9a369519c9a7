"""Child processes of the commands: a pool of workers, another Python, runs that are killed on purpose.

Here: how commands start and stop other processes. Not here: the computation in them.
Start with `child_command.py` and `pool.py`."""
