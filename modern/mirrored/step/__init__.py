"""One training step as one replica runs it under `strategy.run`: forward, backward, combining, update.

Here: synchronous and stale data parallelism. Not here: loops over steps (`modern.mirrored`), transfers between replicas
(`modern.collectives`). Start with `training_step.py` (forward and backward), then `replica_step.py` (the whole step).
"""
