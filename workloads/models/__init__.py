"""The built-in workloads, one file each: a `Workload` subclass and its instances `SEED` and `SMALL`.

`SEED` has the sizes of the write-up that posed the five systems, `SMALL` runs in seconds on two cores, and `SYSTEM` is
the system's number there. A file with `SEED` and `SMALL` is a built-in workload by being here:
`workloads.selection.registry` finds it, and every command takes its name. Start with `regression.py`, the smallest.
"""
