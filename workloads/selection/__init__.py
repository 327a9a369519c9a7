"""Selection of the job that a command runs: the workload by name, folder or `module:attribute`, and the job's flags.

Here: the registry of workloads and the job's flags. Not here: the workloads themselves (`workloads.models`).
Start with `registry.py`, then `flags.py`."""
