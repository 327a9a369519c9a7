"""Parts of inputs that slices, splits and indices take."""

import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.parts import constant_part, dealt_dimension, is_index, is_indexed, split_dimension
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def test_constant_slices_tell_how_many_rows_a_tower_takes():
    def build():
        x = v1.placeholder(tf.float32, name="x")
        for tower in range(2):
            tf.identity(x[tower * 4 : tower * 4 + 4], name=f"part_{tower}")
            tf.slice(x, [tower * 3, 0], [3, -1], name=f"slice_{tower}")
            tf.slice(x, [0, 0], [tower + 1, -1], name=f"uneven_{tower}")
            tf.slice(x, v1.placeholder(tf.int32, [2]), [3, -1], name=f"fed_{tower}")
            tf.strided_slice(x, [tower], [tower + 1], shrink_axis_mask=1, name=f"batch_{tower}")  # x[tower]

    graph = traced(build)

    def part(name):
        row = [
            graph.inputs(f"{name}_{tower}")[0] if name == "part" else TensorId(f"{name}_{tower}", 0) for tower in (0, 1)
        ]
        return constant_part(graph, ImportedGraph(graph), row)

    assert part("part") == 4 and part("slice") == 3 and part("uneven") is None and part("fed") is None
    assert part("batch") is None
    assert "shrink_axis_mask" not in graph.nodes["slice_0"].attr  # to ask a node for an attribute adds none


def test_the_dimension_that_a_split_divides_is_known():
    def parts():
        x = tf.compat.v1.placeholder(tf.float32, [4, 6, 2], "x")
        tf.split(x, 2, axis=1, name="halves")
        tf.split(x, [2, 4], axis=-2, name="unequal")
        tf.split(x, 2, name="rows")

    graph = traced(parts)
    dimensions = [split_dimension(graph, ImportedGraph(graph), name) for name in ("halves", "unequal", "rows", "x")]
    assert dimensions == [1, 1, 0, 0]


def test_indices_are_told_from_slices():
    def build():
        x = v1.placeholder(tf.float32, [5, 3], "x")
        tf.identity(x[2], name="index")
        tf.gather(x, 1, name="gathered")
        tf.gather(x, [1, 2], name="rows")
        tf.unstack(x, name="parts")
        tf.unstack(x, axis=1, name="columns")
        x[1:2]
        y = v1.placeholder(tf.float32, [5, 3], "y")
        tf.add(y[0], y[4])
        tf.shape(y)

    graph = traced(build)
    imported = ImportedGraph(graph)
    gathered = {graph.inputs(name)[0].node if graph.type(name) == "Identity" else name for name in ("gathered", "rows")}
    names = ["strided_slice", "parts", "columns", "strided_slice_1", *sorted(gathered)]
    assert [is_index(graph, imported, name) for name in names] == [True, True, False, False, True, False]
    assert is_indexed(graph, imported, TensorId("y", 0)) and not is_indexed(graph, imported, TensorId("x", 0))


def test_the_only_dimension_that_a_slice_cuts_is_known_where_there_are_three():
    def build():
        x = v1.placeholder(tf.float32, [5, 8, 3], "x")
        for part in (x[:, :4], x[:2], x[:2, :4], x[:, 4], v1.placeholder(tf.float32, [8, 6])[:, :3]):
            tf.tanh(part)

    graph = traced(build)
    names = [name for name in graph.nodes if graph.type(name) == "StridedSlice"]
    assert [split_dimension(graph, ImportedGraph(graph), name) for name in names] == [1, 0, 0, 0, 0]


def test_the_dimension_along_which_towers_take_different_parts_is_known_of_matrices_too():
    def build():
        x, other = v1.placeholder(tf.int32, [5, 8], "x"), v1.placeholder(tf.int32, [5, 8])
        parts = (x[:, :4], x[:, 4:], x[:2, :4], other[:, 4:], x[:4, 4:], x[:, 4], x[:, :3])
        for number, part in enumerate(parts):
            tf.identity(part, name=f"part_{number}")

    graph = traced(build)
    imported = ImportedGraph(graph)

    def dimension(*numbers):
        row = [graph.inputs(f"part_{number}")[0] for number in numbers]
        return dealt_dimension(graph, imported, row)

    assert dimension(0, 1) == 1
    assert [dimension(*pair) for pair in ((2, 1), (0, 3), (0, 6), (1, 5))] == [1, 0, 0, 0]
