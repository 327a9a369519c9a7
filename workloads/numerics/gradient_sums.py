"""The order in which the parts of a gradient are added, where a tensor has several uses."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def added_in_order(really: bool = True) -> Iterator[None]:
    """Within it, `tf.gradients` adds three or more parts of a gradient in their order, also inside of loops.

    By default it adds them by one `AddN`, whose kernel begins with the part whose memory it may use: that depends on
    what else still reads the parts, so that two graphs of the same ops may round differently. `aggregation_method` is
    no substitute, since TensorFlow does not hand it on to the gradient of a `tf.while_loop`.

    Args:
      really: False changes nothing.
    """
    methods, before = tf.AggregationMethod, tf.AggregationMethod.DEFAULT
    methods.DEFAULT = methods.EXPERIMENTAL_TREE if really else before
    try:
        yield
    finally:
        methods.DEFAULT = before
