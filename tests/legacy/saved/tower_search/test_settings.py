import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.settings import is_scalar_setting
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def is_setting(build):
    graph = traced(build)
    return is_scalar_setting(graph, ImportedGraph(graph), "p")


@pytest.mark.parametrize("shape, expected", [([], True), ([1], False), ([None, 3], False)])
def test_a_placeholder_is_a_setting_if_it_has_no_dimensions(shape, expected):
    assert is_setting(lambda: v1.placeholder(tf.float32, shape, name="p")) is expected


def test_without_a_shape_its_users_and_dtype_decide():
    def rate():
        tf.multiply(v1.placeholder(tf.float32, name="p"), 2.0)

    def data():
        tf.matmul(v1.placeholder(tf.float32, name="p"), [[1.0]])

    def labels():
        tf.multiply(v1.placeholder(tf.int32, name="p"), 2)

    assert is_setting(rate)
    assert not is_setting(data) and not is_setting(labels)
    assert not is_setting(lambda: v1.placeholder(tf.float32, name="p"))  # nothing uses it


def test_other_nodes_are_no_settings():
    assert not is_setting(lambda: tf.constant(1.0, name="p"))
