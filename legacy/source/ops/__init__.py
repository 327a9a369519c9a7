"""Writers of ops: for each op type the TensorFlow 2 expression that computes the same.

A writer takes an `OpView` and returns an expression, or None where only `tf.raw_ops` can say the op. Idioms of several
ops (`legacy.source.idioms`) are tried first.
"""
