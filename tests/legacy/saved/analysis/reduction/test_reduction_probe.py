"""Reductions of two towers' gradients, built in every way that old programs have, and what is none."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.reduction.reduction_probe import ReductionProbe
from legacy.saved.graph.imported import ImportedGraph
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.plan import TensorType

v1 = tf.compat.v1
TOWER_NODES = {"g0": 0, "g1": 1, "h0": 0, "h1": 1}


def recognised(combine, parts=(("g0",), ("g1",)), shape=(2, 3)):
    """The `Combine` of two towers' gradients; `combine` makes the combined one, which the node "target" hands on."""

    def build():
        gradients = [v1.placeholder(tf.float32, shape, name) for name in ("g0", "g1")]
        tf.identity(combine(*gradients), name="target")

    graph = traced(build)
    imported = ImportedGraph(graph)
    aliases = {name + ":0": name for name in graph.nodes if graph.type(name) == "VariableV2"}
    aliases.update({name + "/read:0": name for name in aliases.values()})

    def signature(name):
        node = name.partition(":")[0]
        return TensorType(imported.dtype(node), imported.shape(node))

    types = {name: TensorType("float32", [2, 3]) for name in aliases.values()}
    cutter = Cutter(graph, aliases, types, signature, {})
    tensors = [[TensorId(name, 0) for name in tower] for tower in parts]
    target = TensorId("target", 0)
    return ReductionProbe(graph, imported, cutter, TOWER_NODES).recognise("w", target, tensors, [2, 3])


def chain(a, b):
    expanded = [tf.expand_dims(a, 0), tf.expand_dims(b, 0)]
    return tf.reduce_mean(tf.concat(expanded, 0), 0)


@pytest.mark.parametrize(
    "combine, kind, scale",
    [
        (lambda a, b: (a + b) / 2.0, "mean", 1.0),
        (lambda a, b: tf.add_n([a * 0.5, b * 0.5]), "mean", 1.0),
        (lambda a, b: tf.reduce_mean(tf.stack([a, b]), 0), "mean", 1.0),
        (chain, "mean", 1.0),
        (lambda a, b: tf.add_n([a, b]), "sum", 1.0),
        (lambda a, b: tf.add_n([a, b]) * 3.0, "sum", 3.0),
        (lambda a, b: (a + b) / 4.0, "sum", 0.25),
        (lambda a, b: -(a + b), "sum", -1.0),
        (lambda a, b: tf.concat([a, b], 0), "concat", 1.0),
        (lambda a, b: tf.concat([a, b], 0) / 2.0, "concat", 0.5),
    ],
)
def test_every_linear_way_of_combining_is_recognised(combine, kind, scale):
    found = recognised(combine)
    assert (found.kind, found.scale, found.affine) == (kind, scale, False)
    assert found.tensor == "target:0" and found.parts == [["g0:0"], ["g1:0"]]


@pytest.mark.parametrize(
    "combine",
    [
        tf.maximum,
        lambda a, b: a + 2.0 * b,
        lambda a, b: a,  # the second tower is dropped
        lambda a, b: tf.concat([b, a], 0),  # in another order
        lambda a, b: a - a + 0.0 * b,  # always zero
    ],
)
def test_other_functions_of_the_gradients_are_kept_as_written(combine):
    found = recognised(combine)
    assert (found.kind, found.tensor, found.scale) == ("kept as written", "target:0", 1.0)


def test_the_last_tensor_that_is_nothing_but_a_mean_is_taken():
    found = recognised(lambda a, b: tf.clip_by_value(tf.divide(tf.add(a, b, "add"), 2.0, "mean"), -1.0, 1.0))
    assert (found.kind, found.tensor) == ("mean", "mean:0")


def test_a_scale_that_is_not_constant_ends_the_reduction():
    found = recognised(lambda a, b: tf.add(a, b, "add") * v1.placeholder(tf.float32, [], "fed"))
    assert (found.kind, found.tensor) == ("sum", "add:0")


def test_weight_decay_outside_of_the_towers_makes_it_affine():
    def combine(a, b):
        w = v1.get_variable("w", [2, 3], use_resource=False, initializer=v1.zeros_initializer())
        return tf.add_n([(a + b) / 2.0, 0.25 * w])

    found = recognised(combine)
    assert (found.kind, found.affine) == ("mean", False), "the mean before the decay is nearer to the towers"

    def inseparable(a, b):
        w = v1.get_variable("w", [2, 3], use_resource=False, initializer=v1.zeros_initializer())
        return tf.add_n([a, b, 0.25 * w])

    found = recognised(inseparable)
    assert (found.kind, found.scale, found.affine) == ("sum", 1.0, True)


@pytest.mark.parametrize("dtype, shape, kind", [("float32", [], "sum"), ("float32", [3], None), ("int32", [], None)])
def test_weight_decay_by_a_number_that_is_fed(dtype, shape, kind):
    """A fed array, or a whole number, which may count examples, is none."""

    def combine(a, b):
        w = v1.get_variable("w", [2, 3], use_resource=False, initializer=v1.zeros_initializer())
        rate = tf.cast(v1.placeholder(dtype, shape, "rate"), tf.float32)
        return tf.add_n([a, b, rate * w])

    found = recognised(combine)
    expected = ("kept as written", 1.0, False) if kind is None else (kind, 1.0, True)
    assert (found.kind, found.scale, found.affine) == expected


def test_a_factor_that_is_fed_is_no_scale_of_the_sum():
    def combine(a, b):
        rate = v1.placeholder(tf.float32, [], "rate")
        return tf.add_n([rate * a, rate * b])

    assert recognised(combine).kind == "kept as written"


def test_an_open_shape_is_filled_and_an_unknown_one_taken_from_the_variable():
    mean = lambda a, b: (a + b) / 2.0  # noqa: E731
    assert recognised(mean, shape=(None, 3)).kind == "mean"
    assert recognised(mean, shape=None).kind == "mean"


@pytest.mark.parametrize("parts", [((), ()), (("g0",), ("g1", "g1"))])
def test_towers_without_gradients_or_with_different_numbers_of_them_are_kept_as_written(parts):
    assert recognised(lambda a, b: (a + b) / 2.0, parts).kind == "kept as written"


@pytest.mark.parametrize("axis", [0, None], ids=["a row", "a scalar"])
def test_gradients_of_which_one_is_added_to_each_part_of_the_other_are_kept_as_written(axis):
    """No numbers of one shape can be made up for both."""

    def combine(a, b):
        return a + tf.reduce_sum(b, axis, name="h1")

    assert recognised(combine, (("g0",), ("h1",))).kind == "kept as written"


def flat(a, b):
    """Gradients as rows of one matrix, and their mean in the variable's shape."""
    return tf.reshape(tf.reduce_sum(tf.stack([tf.reshape(one, [-1]) for one in (a, b)]), 0) / 2.0, [2, 3])


@pytest.mark.parametrize("shape", [(None, 3), (2, None), (None, None), None])
def test_a_size_that_the_graph_leaves_open_is_the_variables(shape):
    """As of a kernel behind a loop, whose gradient's number of rows no static shape tells."""
    found = recognised(flat, shape=shape)
    assert (found.kind, found.tensor) == ("mean", "target:0")


def test_rows_of_any_number_are_joined_rows():
    found = recognised(lambda a, b: tf.concat([a, b], 0), shape=(None, 3))
    assert found.kind == "concat"


def test_a_gradient_of_other_sizes_than_the_variable_has_any():
    found = recognised(lambda a, b: (a + b) / 2.0, shape=(None, 5))
    assert found.kind == "mean"
