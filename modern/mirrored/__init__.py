"""A workload under a `tf.distribute` strategy with mirrored variables: one replica function, update rules, inputs.

Here: synchronous and stale data parallelism. Not here: how replicas communicate (`modern.collectives`).
Start with `replica_step.py`, then `program.py`."""
