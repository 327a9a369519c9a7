"""Child processes of the commands: a pool of workers, another Python, runs that are killed on purpose.

Here: how commands use other processes. Not here: what is computed in them.
Start with `pool.py`."""
