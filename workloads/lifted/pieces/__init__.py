"""Pieces of an old graph: functions cut out of it, which each replica runs, and their random numbers.

Here: cutting, and ops replaced on the way. Not here: which pieces a training step has, which is the plan.
Start with `piece.py`, then `cutter.py`."""
