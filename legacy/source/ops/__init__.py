"""Writers of ops: for each op type the TensorFlow 2 expression that computes the same, and idioms of several ops.

A writer takes an `OpView` and returns an expression, or None where only `tf.raw_ops` can say the op. Idioms are tried
first; they may also say that an op changes nothing.
"""
