"""New gradients of a lifted loss."""

from __future__ import annotations

import types

import pytest
import tensorflow as tf

from modern.lifted.autodiff import check_differentiable, differentiate_tower
from tests.small_lift import small_graph, small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.plan import TensorType
from workloads.lifted.tensors.lift_taps import NO_TAPS, PhaseTaps, Tap
from workloads.support.errors import InputError

v1 = tf.compat.v1


def differentiated(graph, variables, phase, batch, tower=0, taps=NO_TAPS):
    """{tensor: value} of the loss, raw gradients and taps of a tower; `variables` are {name: value}."""
    shapes = {name: TensorType("float32", list(tf.constant(value).shape)) for name, value in variables.items()}
    aliases = {f"{name}{suffix}": name for name in variables for suffix in (":0", "/read:0")}
    types_ = {name: TensorType(value.dtype.name, value.shape.as_list()) for name, value in batch.items()}
    piece = Cutter(graph, aliases, shapes, types_.__getitem__, {}).piece(
        [phase.losses[tower], *taps.values(tower).values()], list(batch)
    )
    with tf.Graph().as_default(), v1.Session() as session:
        given = [
            tf.constant(variables[feed.key.variable]) if feed.kind == "read" else tf.constant(batch[feed.key].numpy())
            for feed in piece.feeds
        ]
        return session.run(differentiate_tower(phase, tower, piece, given, taps))


def test_the_gradient_goes_where_the_old_one_was():
    found = differentiated(small_graph(), {"w": 2.0}, small_plan().phases[0], {"x0:0": tf.constant([1.0, 2.0])})
    assert {name: float(value) for name, value in found.items()} == {"loss0:0": 6.0, "g0:0": 3.0}


@pytest.mark.parametrize("shared, expected", [(True, 1.5), (False, 3.0)])
def test_a_loss_that_the_graph_weights_when_it_is_shared_is_weighted_again(shared, expected):
    phase = small_plan().phases[0]
    phase.loss_scale, phase.shared_loss = 0.5, shared
    found = differentiated(small_graph(), {"w": 2.0}, phase, {"x0:0": tf.constant([1.0, 2.0])})
    assert float(found["g0:0"]) == expected


@pytest.mark.parametrize("gradients, expected", [(["dy:0"], {"dy:0": [1.5, 1.5]}), ([], {})])
def test_a_tap_gets_the_gradient_that_the_old_graph_has_to_it(gradients, expected):
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", [2], use_resource=False)
        tf.reduce_sum(tf.multiply(w, 2.0, name="y") * 3.0, name="loss0")
    phase, taps = small_plan().phases[0], PhaseTaps([Tap("y", ["y:0"], gradients)], {})
    phase.loss_scale, phase.shared_loss = 0.5, True
    found = differentiated(Graph(graph.as_graph_def()), {"w": [1.0, 2.0]}, phase, {}, taps=taps)
    assert found.pop("loss0:0") == 18.0 and found.pop("g0:0").tolist() == [3.0, 3.0]
    assert {name: value.tolist() for name, value in found.items()} == {"y:0": [2.0, 4.0], **expected}


def embedding():
    with tf.Graph().as_default() as graph:
        table = v1.get_variable("table", [3, 2], use_resource=False)
        rows = v1.placeholder(tf.int32, [2], name="rows")
        tf.reduce_sum(tf.gather(table, rows) * 4.0, name="loss0")
        tf.reduce_sum(table, name="dense")
    return Graph(graph.as_graph_def())


def sparse_phase(loss="loss0:0"):
    phase = small_plan().phases[0]
    phase.losses, phase.raw = [loss], [{"table": "values:0", "table (indices)": "indices:0"}]
    return phase


def test_a_sparse_gradient_keeps_its_rows():
    rows = {"rows:0": tf.constant([2, 0])}
    found = differentiated(embedding(), {"table": [[1.0, 1.0]] * 3}, sparse_phase(), rows)
    assert found["indices:0"].tolist() == [2, 0] and found["values:0"].tolist() == [[4, 4], [4, 4]]


def test_a_gradient_that_is_no_longer_sparse_is_refused():
    with pytest.raises(InputError, match="the old gradient of 'table' is sparse, and the new one is not"):
        differentiated(embedding(), {"table": [[1.0, 1.0]] * 3}, sparse_phase("dense:0"), {})


def test_a_weight_that_the_loss_does_not_depend_on_has_a_gradient_of_zero():
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", [2], use_resource=False)
        tf.reduce_sum(tf.stop_gradient(w), name="loss0")
    phase = small_plan().phases[0]
    assert differentiated(Graph(graph.as_graph_def()), {"w": [1.0, 2.0]}, phase, {})["g0:0"].tolist() == [0, 0]


def test_an_op_without_a_gradient_is_reported():
    with tf.Graph().as_default() as graph:
        w = v1.get_variable("w", [2, 2], use_resource=False)
        tf.reduce_sum(tf.raw_ops.Lu(input=w)[0], name="loss0")
    with pytest.raises(InputError, match="this loss has no gradient: .*Lu"):
        differentiated(Graph(graph.as_graph_def()), {"w": [[1.0, 2.0], [3.0, 4.0]]}, small_plan().phases[0], {})


def workload_of(graph):
    return types.SimpleNamespace(graph=graph)


def test_says_why_a_loss_cannot_be_differentiated_anew():
    plan, graph = small_plan(), small_graph()
    check_differentiable(workload_of(graph), plan.phases[0])
    for field, value, reason in (
        ("losses", [], "the graph does not tell what is minimized"),
        ("other_losses", [["b:0", "c:0"]], "several losses are differentiated: loss0:0, b:0"),
        ("returns", [["x0:0"]], "each tower's gradients depend on all towers' results"),
        ("raw", [{"w": "g0:0"}, {}], "its gradients are not found one by one"),
    ):
        phase = small_plan().phases[0]
        setattr(phase, field, value)
        with pytest.raises(InputError, match="--autodiff: got 'new', .*: " + reason):
            check_differentiable(workload_of(graph), phase)


def test_a_while_loop_is_reported():
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        y = v1.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [tf.constant(0.0)], name="loop")
        tf.identity(y, name="loss0")
        tf.constant(1.0, name="loss1")
    with pytest.raises(InputError, match="while loops, such as the one of 'loop/"):
        check_differentiable(workload_of(Graph(graph.as_graph_def())), small_plan().phases[0])
