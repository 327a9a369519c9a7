"""The new way: `tf.distribute`. Mirrored variables, one replica function, an all-reduce, steps inside one `tf.function`.

It needs current TensorFlow, imports `workloads`, and nothing of `legacy` or `parity`. Keras is used by
`keras_rules.py` alone, when it is asked for.
"""
