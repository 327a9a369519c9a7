"""Where the parts of a partitioned variable lie in a checkpoint."""

import doctest

import tensorflow as tf

from legacy.saved.graph import partitions
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def test_a_saver_says_where_each_part_lies():
    def build():
        parts = [tf.raw_ops.VariableV2(shape=[2, 2], dtype=tf.float32, name=f"emb/part_{i}") for i in range(2)]
        whole = tf.raw_ops.VariableV2(shape=[2], dtype=tf.float32, name="w")
        texts = {"tensor_names": ["emb", "emb", "w"], "shape_and_slices": ["4 2 0,2:-", "4 2 2,2:0,2", ""]}
        tf.raw_ops.SaveV2(prefix="file", tensors=[parts[0], tf.identity(parts[1]), whole], **texts)

    assert partitions.parts_of_variables(traced(build)) == {
        "emb/part_0": partitions.Part("emb", (4, 2), (slice(0, 2), slice(None))),
        "emb/part_1": partitions.Part("emb", (4, 2), (slice(2, 4), slice(0, 2))),
    }
    assert partitions.parts_of_variables(traced(lambda: tf.no_op())) == {}


def test_a_saver_says_under_which_names_variables_are_saved():
    def build():
        with tf.name_scope("tower_0"):
            w = v1.get_variable("tower_0/w", [2], use_resource=False)
            r = v1.get_variable("tower_0/r", [2], use_resource=True)
        own = v1.get_variable("own", [2], use_resource=False)
        w.assign(w * 0.5)
        v1.train.Saver({"w": w, "r": r, "own": own})
        v1.train.Saver({"w/average": w})

    assert partitions.restored_names(traced(build)) == {
        "tower_0/w": ["w", "w/average"],
        "tower_0/r": ["r"],
        "own": ["own"],
    }
    assert partitions.restored_names(traced(lambda: tf.no_op())) == {}


def test_the_example():
    assert doctest.testmod(partitions).failed == 0
