"""The new way, `tf.distribute`: mirrored variables, one replica function, an all-reduce, steps in one `tf.function`.

It needs current TensorFlow, imports `workloads`, and nothing of `legacy` or `parity`. Keras is used by
`keras_rules.py` alone, when it is asked for.
"""
