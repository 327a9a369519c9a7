"""A workload under a `tf.distribute` strategy with mirrored variables: training step, update rules, inputs, program.

Here: synchronous and stale data parallelism. Not here: how replicas communicate (`modern.collectives`).
Start with `training_step.py` (forward and backward) and `replica_step.py` (the whole step), then `program.py`.
"""
