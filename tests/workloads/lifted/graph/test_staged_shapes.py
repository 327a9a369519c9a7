"""Shapes of what a staging area hands out."""

import pytest
import tensorflow as tf

from legacy.saved.graph.cut.cone import extract_cone
from tests.legacy.saved.graphs import graph_of

AREA = """
    a = Split()
    b = Split()
    put = Stage(a)
    other_put = Stage(b)
    take = Unstage()
    loss = Square(take)
    """


def staged(first, second, area=b"area"):
    """The shape of what is taken, where two shapes are put into one area, or the second into another."""
    shapes = {"a": [tf.TensorShape(first)], "b": [tf.TensorShape(second)]}
    graph = graph_of(AREA, **{name: {"_output_shapes": value} for name, value in shapes.items()})
    for name in ("put", "other_put", "take"):
        graph.nodes[name].attr["shared_name"].s = area if name == "other_put" else b"area"
        graph.nodes[name].attr["dtypes"].list.type.append(tf.float32.as_datatype_enum)
    shape = extract_cone(graph, ["loss"]).graph.nodes["take"].attr["shape"].shape
    return None if shape.unknown_rank else [dim.size for dim in shape.dim]


@pytest.mark.parametrize(
    "first, second, expected",
    [
        ([None, 4], [None, 4], [-1, 4]),
        ([2, 4], [3, 4], [-1, 4]),
        ([], [], []),
        ([2], [2, 1], None),
        ([2], None, None),
    ],
)
def test_what_is_put_in_tells_the_shape(first, second, expected):
    assert staged(first, second) == expected


def test_other_areas_tell_nothing():
    assert staged([2, 4], [3, 5], b"other") == [2, 4]
