"""Workloads with a step of their own (`workloads.steps`) under `MirroredStrategy`.

`replica.py` runs a train op on one replica, `program.py` trains.
"""
