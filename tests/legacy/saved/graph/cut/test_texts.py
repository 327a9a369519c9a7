"""Texts in a step: what is made of them by comparisons, numbers and tables is data."""

import pytest
import tensorflow as tf

from legacy.saved.graph.cut.cone import extract_cone
from legacy.saved.graph.cut.tables import known_size
from legacy.saved.graph.cut.texts import is_data_source
from tests.legacy.saved.graphs import traced
from tests.legacy.source.conditional import with_old_cond

v1 = tf.compat.v1


def words():
    return v1.placeholder(tf.string, [None], name="words")


def cone_of(build):
    """The cone of the node "loss" that `build` makes."""
    return extract_cone(traced(build), ["loss"])


def shape_of(cone, name):
    """Sizes of a placeholder; -1 for an open one."""
    return [dim.size for dim in cone.graph.nodes[name].attr["shape"].shape.dim]


def test_the_result_of_a_comparison_of_texts_is_data_of_their_shape():
    def build():
        column = tf.expand_dims(words(), -1)
        given = tf.not_equal(column, "", name="given")
        rows = tf.cast(tf.shape(column)[0], tf.float32)
        tf.identity(tf.reduce_sum(tf.cast(given, tf.float32)) / rows, name="loss")

    cone = cone_of(build)
    assert cone.origins == {"given": ("given:0", "NotEqual")}
    assert shape_of(cone, "given") == [-1, 1] and "words" not in cone.graph.nodes
    (shape,) = [name for name in cone.graph.nodes if cone.graph.type(name) == "Shape"]
    assert cone.graph.inputs(shape)[0].node == "given"  # which has the shape of the texts


def test_comparisons_of_numbers_and_shapes_without_a_comparison_stay():
    def build():
        numbers = v1.placeholder(tf.int32, [None], name="numbers")
        equal = tf.cast(tf.equal(numbers, 3), tf.float32)
        tf.identity(tf.reduce_sum(equal) / tf.cast(tf.shape(words())[0], tf.float32), name="loss")

    assert set(cone_of(build).origins) == {"numbers", "words"}


@pytest.mark.parametrize(
    "read, dtype, shape",
    [
        (lambda texts: tf.strings.to_number(texts), tf.float32, [-1]),
        (lambda texts: tf.cast(v1.decode_raw(texts, tf.uint8), tf.float32), tf.uint8, [-1, -1]),
        (lambda texts: tf.cast(tf.io.decode_png(texts[0]), tf.float32), tf.uint8, [-1, -1, -1]),
    ],
)
def test_numbers_that_are_read_from_texts_are_data(read, dtype, shape):
    cone = cone_of(lambda: tf.identity(tf.reduce_sum(read(words())), name="loss"))
    ((name, _),) = cone.origins.items()
    assert cone.graph.nodes[name].attr["dtype"].type == dtype.as_datatype_enum
    assert shape_of(cone, name) == shape


def test_texts_that_are_made_of_numbers_are_read_in_the_step():
    def build():
        texts = tf.strings.as_string(v1.placeholder(tf.int32, [None], name="numbers"))
        tf.identity(tf.reduce_sum(tf.cast(tf.equal(texts, "3", name="equal"), tf.float32)), name="loss")

    assert set(cone_of(build).origins) == {"numbers"}
    assert not is_data_source(traced(build), "equal")


@with_old_cond
def test_texts_that_a_loop_reads_one_by_one_are_data():
    def build():
        texts = words()

        def read(number, total):
            return number + 1, total + tf.strings.to_number(texts[number], name="read")

        total = v1.while_loop(lambda number, _: number < 3, read, [0, 0.0])[1]
        tf.identity(total, name="loss")

    assert set(cone_of(build).origins) == {"words"}


def filled(keys):
    values = tf.range(tf.size(keys))
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)


def test_the_size_of_a_table_is_the_number_of_its_keys():
    def build():
        table = filled(tf.constant(["a", "b", "c"]))
        tf.identity(tf.cast(table.size(), tf.float32), name="loss")

    cone = cone_of(build)
    assert not cone.origins
    (size,) = [node for node in cone.graph.nodes.values() if node.name.endswith("Size/LookupTableSizeV2")]
    assert tf.make_ndarray(size.attr["value"].tensor) == 3


def test_the_size_of_a_table_with_unknown_keys_is_data():
    def build():
        table = filled(words())
        tf.identity(tf.cast(table.size(), tf.float32), name="loss")

    graph = traced(build)
    (name,) = [name for name in graph.nodes if graph.type(name) == "LookupTableSizeV2"]
    assert known_size(graph, name) is None and is_data_source(graph, name)
    assert set(extract_cone(graph, ["loss"]).origins) == {name}
