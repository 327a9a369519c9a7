"""Constants as arrays, also behind what reshapes them."""

import numpy as np
import tensorflow as tf

from legacy.saved.hazards.basics.constants import constant_array
from tests.legacy.saved.graphs import graph_of


def test_constants_are_read_behind_a_reshape_and_no_other_node_is():
    graph = graph_of(
        """
        c = Const()
        shape = Const()
        r = Reshape(c, shape)
        p = Placeholder()
        word = Const()
        """,
        c={"value": np.array([1.5, 2.5], np.float32)},
        shape={"value": np.array([2, 1], np.int32)},
        word={"value": np.array(["a"], object)},
        p={"dtype": tf.float32},
    )
    assert np.array_equal(constant_array(graph, "r"), [1.5, 2.5])
    assert constant_array(graph, "p") is None and constant_array(graph, "word") is None
