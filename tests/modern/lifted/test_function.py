"""Pieces of a graph as functions of a replica's values."""

from __future__ import annotations

import pytest
import tensorflow as tf

from modern.lifted.function import PieceFunction, StepValues
from tests.legacy.source.conditional import with_old_cond
from tests.small_lift import small_graph, small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.pieces.noise import noise_key
from workloads.lifted.pieces.piece import VariableVersion
from workloads.lifted.plan import TensorType
from workloads.support.errors import InputError

v1 = tf.compat.v1


def values_of(batch=None, start=2.0, replica=1):
    step = tf.constant(3, tf.int64)
    return StepValues(0, replica, step, batch or {}, {"w": tf.Variable(start), "v": tf.Variable(0.0)})


def small_cutter(random=None):
    variables, types = {"w": TensorType("float32", [])}, small_plan().tensors
    return Cutter(small_graph(), {"w:0": "w", "w/read:0": "w"}, variables, types.__getitem__, random or {})


def test_inputs_come_from_the_batch_and_cuts_from_the_crossings():
    loss = PieceFunction(small_cutter().piece(["loss0:0"], ["x0:0"]), {"x0:0": "x"}, {})
    assert loss.cuts == ["x0:0"] and loss.reads == [VariableVersion("w", 0)]
    assert [float(value) for value in loss(values_of({"x": tf.constant([1.0, 2.0])}))] == [6.0]
    mean = PieceFunction(small_cutter().piece(["mean:0"], ["g0:0", "g1:0"]), {}, {})
    values = values_of()
    values.crossings = {"g0:0": tf.constant(3.0), "g1:0": tf.constant(7.0)}
    assert [float(value) for value in mean(values)] == [5.0]


def test_a_function_is_wrapped_once_and_called_with_other_values():
    piece = small_cutter().piece(["mean:0"], ["g0:0", "g1:0"])
    mean = PieceFunction(piece, {"g0:0": "a", "g1:0": "b"}, {})
    batches = [{"a": tf.constant(1.0), "b": tf.constant(b)} for b in (3.0, 5.0)]
    assert [float(mean(values_of(batch))[0]) for batch in batches] == [2.0, 3.0]


@with_old_cond
def one_number_or_sums():
    """A graph of sums of rows with a branch that reads single numbers, where `places` has two columns."""
    with tf.Graph().as_default() as graph:
        x, places = v1.placeholder(tf.float32, [None, None], "x"), v1.placeholder(tf.int32, [None, None], "places")
        is_place = tf.equal(tf.shape(places)[1], 2)
        found = v1.cond(is_place, lambda: tf.gather_nd(x, places), lambda: tf.reduce_sum(x, 1))
        tf.identity(found, "found")
    return Graph(graph.as_graph_def())


def test_a_branch_that_does_not_go_with_the_sizes_of_the_batch_may_stay():
    types = {"x": TensorType("float32", [None, None]), "places": TensorType("int32", [None, None])}
    cutter = Cutter(one_number_or_sums(), {}, {}, lambda tensor: types[tensor[:-2]], {})
    piece = cutter.piece(["found:0"], ["x:0", "places:0"])
    batch = {"x": tf.constant([[1.0, 2.0], [3.0, 5.0]]), "places": tf.zeros([2, 3], tf.int32)}
    with tf.Graph().as_default(), pytest.raises(InputError, match="indices.shape"):
        fed = {f"{feed.placeholder}:0": tf.constant(batch[str(feed.key)[:-2]].numpy()) for feed in piece.feeds}
        import_graph(piece.graph_def, fed)
    for places, expected in ([[0, 0, 0]] * 2, [3.0, 8.0]), ([[1, 1], [0, 1]], [5.0, 2.0]):
        batch["places"] = tf.constant(places)
        found = PieceFunction(piece, {"x:0": "x", "places:0": "places"}, {})
        run = tf.function(lambda values, found=found: found(values), autograph=False)
        assert run(values_of(batch))[0].numpy().tolist() == expected


def test_noise_is_fed_with_a_key_or_with_recorded_numbers():
    keyed = PieceFunction(small_cutter({"g0": "drawn"}).piece(["g0:0"]), {}, {"g0": "stream"})
    (argument,) = keyed.arguments(values_of({"noise/stream/0": tf.constant(9.0)}))
    assert float(argument) == 9.0
    values = values_of()
    assert values.key("stream", common=False).numpy().tolist() == [noise_key(0, 1, "stream"), 3]
    assert values.key("stream", common=True).numpy().tolist() == [noise_key(0, None, "stream"), 3]


def test_random_nodes_take_the_key_of_their_stream():
    with tf.Graph().as_default() as graph:
        tf.raw_ops.RandomUniform(shape=tf.constant([2]), dtype=tf.float32, name="random")
    cutter = Cutter(Graph(graph.as_graph_def()), {}, {}, lambda tensor: TensorType("float32", [2]), {"random": "keyed"})
    draw = PieceFunction(cutter.piece(["random:0"]), {}, {"random": "stream"})
    first, again, other = (draw(values_of(replica=replica))[0].numpy().tolist() for replica in (1, 1, 0))
    key = [noise_key(0, 1, "stream"), 3]
    assert first == again == tf.random.stateless_uniform([2], key).numpy().tolist() != other


def test_a_value_is_read_before_the_change_that_somebody_still_needs_it_from():
    values = values_of()
    old, new = VariableVersion("w", 0), VariableVersion("w", 1)
    values.needed = {old, new}
    values.before_change(["w"])
    values.variables["w"].assign(5.0)
    assert float(values.read(old)) == 2.0 and float(values.read(new)) == 5.0
    values.before_change(["w"])
    values.variables["w"].assign(6.0)
    assert float(values.read(new)) == 5.0  # kept from its first read


def test_a_value_that_was_not_read_in_time_is_refused():
    values = values_of()
    values.before_change(["w"])
    with pytest.raises(InputError, match="lift: 'w' is used after 0 changes, and has 1"):
        values.read(VariableVersion("w", 0))
    with pytest.raises(InputError, match="lift: 'v' is used after 1 changes, and has 0"):
        values.read(VariableVersion("v", 1))
