"""The modern implementation, `tf.distribute`: replicas, all-reduce, update rules, programs, and the commands to run it.

It needs current TensorFlow and imports `workloads`, and nothing of `legacy` or `parity`.
Start with `factory.py` (a job's program); Keras is imported by `mirrored/keras_rules.py` alone, when asked for.
"""
