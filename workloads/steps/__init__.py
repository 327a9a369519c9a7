"""Workloads whose whole training step is a function, where no named fields describe the update.

Start with `workload.py`; `tracing.py` finds their variables.
"""
