"""Numbers that are made from the size of the whole batch and are the rows of a tower's part, as `rows // towers`."""

import pytest
import tensorflow as tf

from legacy.saved.analysis import phases
from legacy.saved.analysis.context import Context
from legacy.saved.analysis.division.part_sizes import with_part_sizes
from tests.legacy.saved.graphs import traced

v1 = tf.compat.v1


def split(x, _):
    return tf.split(x, 2)


def slices(x, rows):
    return [x[:rows], x[rows:]]


def changed(number, parts=split, shape=(None, 3), of_towers=True, adds=True):
    """The graph with own sizes of a program whose towers add zeros of `number(rows of the batch)` rows; None if none.

    Each tower makes the zeros itself if they are `of_towers`, else all take the same ones. Unless it `adds` them, there
    are none.
    """

    def build():
        w = v1.get_variable("w", [3], use_resource=False)
        x = v1.placeholder(tf.float32, shape, "x")
        rows = number(tf.shape(x)[0])
        zeros = None if of_towers else tf.fill([rows], 0.0, name="zeros")
        gradients = []
        for tower, part in enumerate(parts(x, rows)):
            with tf.device(f"/gpu:{tower}"), v1.name_scope(f"tower_{tower}"):
                state = (tf.fill([rows], 0.0, name="zeros") if of_towers else zeros) if adds else 0.0
                gradients.append(tf.gradients(tf.reduce_sum(tf.tanh(tf.reduce_sum(part * w, 1) + state)), [w])[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.add_n(gradients), w)], name="train")

    context = Context(traced(build), ["w"])
    analysed = phases.analyse_phases(context, ["train"])
    return with_part_sizes(context.graph, context.imported, [phase.divided for phase in analysed])


@pytest.mark.parametrize("of_towers", [True, False])
@pytest.mark.parametrize("parts", [split, slices])
@pytest.mark.parametrize("number", [lambda rows: rows // 2, lambda rows: tf.cast(rows / 2, tf.int32)])
def test_the_rows_of_a_part_are_those_of_the_towers_own(number, parts, of_towers):
    graph = changed(number, parts, of_towers=of_towers)
    fills = sorted(name for name in graph.nodes if graph.type(name) == "Fill" and "zeros" in name)
    fills = fills if of_towers else [name for name in fills if "of_tower" in name]
    assert len(fills) == 2
    for tower, name in enumerate(fills):
        before = graph.ancestors([name], controls=False)
        assert any(node.endswith("/rows") for node in before)
        assert not any(node.startswith(f"tower_{1 - tower}/") for node in before)


@pytest.mark.parametrize(
    "number, fields",
    [
        (lambda rows: rows - 4, {}),  # as many for one size of the batch only
        (lambda rows: rows // 2, {"shape": (8, 3)}),  # of a known size
        (lambda rows: rows // 2, {"parts": lambda x, rows: [x[:4], x[4:]]}),  # parts of other sizes
    ],
)
def test_other_numbers_stay_as_they_are(number, fields):
    assert changed(number, **fields) is None


def test_slices_that_deal_the_batch_out_stay_as_they_are():
    graph = changed(lambda rows: rows // 2, slices)
    assert not any(graph.type(name) == "StridedSlice" and "/of_tower_" in name for name in graph.nodes)


def test_sizes_that_deal_the_batch_out_alone_stay_as_they_are():
    assert changed(lambda rows: rows // 2, slices, adds=False) is None
