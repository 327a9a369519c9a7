"""The part of a step that belongs to one tower."""

from __future__ import annotations

import tensorflow as tf

from modern.lifted.function import StepValues
from modern.lifted.tower import TowerRunner, common_inputs
from tests.modern.lifted.replicas import on_replicas
from tests.small_lift import SCALAR, small_graph, small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.plan import Input, Noise, ResultExchange, TensorType

v1 = tf.compat.v1
BATCHES = ([1.0, 2.0], [3.0, 4.0])


def ran(plan, graph=None, new_gradients=False, towers=2, written=None):
    """(losses, gradients, crossings) of each replica, which runs its own tower."""
    variables, types = {"w": SCALAR}, plan.tensors
    cutter = Cutter(graph or small_graph(), plan.aliases, variables, types.__getitem__, {})
    runner = TowerRunner(plan, plan.phases[0], cutter, new_gradients, written)

    weight = tf.Variable(2.0)

    def run(context, replica):
        batch = {"x": tf.constant(BATCHES[replica])}
        values = StepValues(0, replica, tf.constant(0, tf.int64), batch, {"w": weight})
        results = runner.run(context, replica, values)
        names[replica] = list(results.crossings)  # which differ, and replicas must return equal structures
        return results.losses, results.gradients, list(results.crossings.values())

    names: dict[int, list[str]] = {}
    found = on_replicas(towers, run)
    return [
        (losses, gradients, dict(zip(names[k], crossings))) for k, (losses, gradients, crossings) in enumerate(found)
    ]


def test_a_tower_gives_its_loss_its_gradients_and_what_leaves_it():
    assert ran(small_plan()) == [([6.0], {"w": 3.0}, {"g0:0": 3.0}), ([14.0], {"w": 7.0}, {"g1:0": 7.0})]


def test_new_gradients_take_the_place_of_the_old_ones():
    plan = small_plan()
    plan.phases[0].loss_scale, plan.phases[0].shared_loss = 0.5, True
    found = ran(plan, new_gradients=True)
    assert [gradients for _, gradients, _ in found] == [{"w": 1.5}, {"w": 3.5}]


def test_a_written_function_takes_the_place_of_the_old_loss_and_gradients():
    """What else leaves the tower, as a clipped gradient, is computed by the graph from what was written."""
    with tf.Graph().as_default() as graph:
        for k in range(2):
            x = v1.placeholder(tf.float32, [2], name=f"x{k}")
            tf.multiply(tf.reduce_sum(x, name=f"g{k}"), 2.0, name=f"twice{k}")
    plan = small_plan()
    phase = plan.phases[0]
    phase.crossings, phase.combine = [["twice0:0", "twice1:0"]], []
    plan.tensors.update({f"twice{k}:0": SCALAR for k in range(2)})

    def written(tower, values):
        return {f"loss{tower}:0": tf.constant(100.0), f"g{tower}:0": values.variables["w"] + tower}

    assert ran(plan, Graph(graph.as_graph_def()), written=written) == [
        ([100.0], {"w": 2.0}, {"twice0:0": 4.0}),
        ([100.0], {"w": 3.0}, {"twice1:0": 6.0}),
    ]


def test_a_gradient_that_only_another_tower_has_is_zero():
    plan = small_plan()
    plan.phases[0].gradients[1]["v"] = "g1:0"
    assert [gradients for _, gradients, _ in ran(plan)] == [{"w": 3.0, "v": 0.0}, {"w": 7.0, "v": 7.0}]


def test_a_graph_that_does_not_tell_its_losses_shows_none():
    plan = small_plan()
    plan.phases[0].losses = []
    assert [losses for losses, _, _ in ran(plan)] == [[], []]


def normalized_graph():
    """Tower k's gradient is sum(xk) over the sum of both towers' counts, which are 2 and 6 for `BATCHES`."""
    with tf.Graph().as_default() as graph:
        v1.get_variable("w", [], use_resource=False)
        sums, counts = [], []
        for k in range(2):
            x = v1.placeholder(tf.float32, [2], name=f"x{k}")
            sums.append(tf.reduce_sum(x, name=f"sum{k}"))
            counts.append(tf.multiply(x[1], 1.0 + k / 2, name=f"count{k}"))
        total = tf.add_n(counts, name="total")
        for k in range(2):
            tf.divide(sums[k], total, name=f"g{k}")
            tf.identity(sums[k], name=f"loss{k}")
    return Graph(graph.as_graph_def())


def test_a_tower_that_waits_for_all_towers_runs_in_two_parts():
    plan = small_plan()
    phase = plan.phases[0]
    phase.returns, phase.early = [["total:0"], ["total:0"]], [["count0:0", "count1:0"]]
    phase.kept = [["sum0:0"], ["sum1:0"]]
    for name in ("total:0", "count0:0", "count1:0", "sum0:0", "sum1:0"):
        plan.tensors[name] = SCALAR
    found = ran(plan, normalized_graph())
    assert [gradients for _, gradients, _ in found] == [{"w": 0.375}, {"w": 0.875}]  # over the 2 + 6 of both towers


def test_a_tower_that_waits_for_all_towers_again_runs_in_further_parts():
    """Its gradient is its sum over both sums of quotients, which are sums over both towers' counts."""
    with tf.Graph().as_default() as graph:
        graph_def = normalized_graph().graph_def
        g0, g1 = tf.import_graph_def(graph_def, name="", return_elements=["g0:0", "g1:0"])
        total = tf.add(g0, g1 * 2.0, name="second")
        for k, own in enumerate((g0, g1)):
            tf.multiply(own, total, name=f"h{k}")
    plan = small_plan()
    phase = plan.phases[0]
    phase.gradients = phase.raw = [{"w": "h0:0"}, {"w": "h1:0"}]
    phase.crossings = [["h0:0", "h1:0"]]
    phase.combine = []
    sums, counts = ["sum0:0", "sum1:0"], ["count0:0", "count1:0"]
    phase.returns, phase.early = [["total:0", "second:0"]] * 2, [counts, ["g0:0", "g1:0"]]
    phase.exchanges = [
        ResultExchange([counts], [["total:0"]] * 2, [[sums[0]], [sums[1]]]),
        ResultExchange([["g0:0", "g1:0"]], [["second:0"]] * 2, [["g0:0"], ["g1:0"]]),
    ]
    names = [*sums, *counts, "total:0", "second:0", "g0:0", "g1:0", "h0:0", "h1:0"]
    plan.tensors.update(dict.fromkeys(names, SCALAR))
    found = ran(plan, Graph(graph.as_graph_def()))
    second = 0.375 + 2 * 0.875
    assert [gradients for _, gradients, _ in found] == [{"w": 0.375 * second}, {"w": 0.875 * second}]


def test_what_is_computed_once_enters_by_its_first_tensor_and_node():
    plan = small_plan()
    plan.common = [Input("rate", "float32", None, "setting", 0, ["rate:0"], "rate:0")]
    plan.common_noise = [Noise("stream", "RandomUniform", "keyed", ["u"])]
    assert common_inputs(plan) == ({"rate:0": "rate"}, {"u": "stream"})


def test_towers_draw_the_same_numbers_where_a_node_is_none_of_theirs():
    with tf.Graph().as_default() as graph:
        v1.get_variable("w", [], use_resource=False)
        noise = tf.raw_ops.RandomUniform(shape=tf.constant([2]), dtype=tf.float32, name="random")
        for k in range(2):
            x = v1.placeholder(tf.float32, [2], name=f"x{k}")
            tf.reduce_sum(x, name=f"loss{k}")
            tf.reduce_sum(noise, name=f"g{k}")
    plan = small_plan()
    plan.common_noise = [Noise("random", "RandomUniform", "keyed", ["random"])]
    plan.tensors["random:0"] = TensorType("float32", [2])
    cutter = Cutter(Graph(graph.as_graph_def()), {}, {}, plan.tensors.__getitem__, {"random": "keyed"})
    runner = TowerRunner(plan, plan.phases[0], cutter, False)

    def run(context, replica):
        values = StepValues(0, replica, tf.constant(0, tf.int64), {"x": tf.constant(BATCHES[replica])}, {})
        return runner.run(context, replica, values).gradients["w"]

    first, second = on_replicas(2, run)
    assert first == second > 0.0


def test_each_tower_draws_by_its_own_node():
    with tf.Graph().as_default() as graph:
        v1.get_variable("w", [], use_resource=False)
        for k in range(2):
            x = v1.placeholder(tf.float32, [2], name=f"x{k}")
            noise = tf.raw_ops.RandomUniform(shape=tf.constant([2]), dtype=tf.float32, name=f"random{k}")
            tf.reduce_sum(x, name=f"loss{k}")
            tf.reduce_sum(noise, name=f"g{k}")
    plan = small_plan()
    plan.noise = [Noise("random0", "RandomUniform", "drawn", ["random0", "random1"])]
    plan.tensors.update({f"random{k}:0": TensorType("float32", [2]) for k in range(2)})
    how = {"random0": "drawn", "random1": "drawn"}
    cutter = Cutter(Graph(graph.as_graph_def()), {}, {}, plan.tensors.__getitem__, how)
    runner = TowerRunner(plan, plan.phases[0], cutter, False)

    def run(context, replica):
        batch = {"x": tf.constant(BATCHES[replica]), "noise/random0/0": tf.constant([1.0, 2.0 + replica])}
        values = StepValues(0, replica, tf.constant(0, tf.int64), batch, {})
        return runner.run(context, replica, values).gradients

    assert on_replicas(2, run) == [{"w": 3.0}, {"w": 4.0}]
