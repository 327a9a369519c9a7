"""The graph of one worker of a cluster: who updates what, and how gradients reach the weights."""

import pytest
import tensorflow as tf

from legacy.towers import worker_graph
from tests.cases import Dyadic, Everything
from workloads.job import Job
from workloads.workload import Clip, MovingAverage

v1 = tf.compat.v1


@pytest.mark.parametrize("where, weights", [("combined", [-2.0, 1.0]), ("tower", [-4.0, 1.0])])
def test_the_optimizer_clips_what_was_combined_and_nothing_else(where, weights):
    with tf.Graph().as_default(), v1.Session() as session:
        variables = [v1.get_variable(name, [], initializer=v1.zeros_initializer()) for name in ("a", "b")]
        gradients = [tf.constant(4.0), tf.constant(-1.0)]
        clipping = worker_graph.Clipping(v1.train.GradientDescentOptimizer(1.0), Clip(2.0, where, "value"))
        apply = clipping.apply_gradients(zip(gradients, variables))
        session.run(v1.global_variables_initializer())
        session.run(apply)
        assert session.run(variables) == weights
        assert clipping.get_name() == "GradientDescent"  # all else is the optimizer's


@pytest.mark.parametrize(
    "index, sync, hooks, averages",
    [(0, True, 1, ["a", "b"]), (1, True, 1, []), (0, False, 0, ["a", "b"]), (1, False, 0, ["a", "b"])],
)
def test_a_synchronous_update_is_averaged_by_the_chief_alone(index, sync, hooks, averages):
    with tf.Graph().as_default():
        made = worker_graph.build_worker_graph(Job(Dyadic(moving_average=MovingAverage(0.5)), 2, 8), index, sync)
    assert len(made.hooks) == hooks and sorted(made.tower.averages) == averages
    assert {name: holder.shape.as_list() for name, holder in made.batch.items()} == {"x": [4]}


@pytest.mark.parametrize("index", [0, 1])
def test_the_chief_alone_updates_statistics(index):
    with tf.Graph().as_default():
        made = worker_graph.build_worker_graph(Job(Everything(), 2), index, sync=False)
    statistics = {name for name, variable in made.tower.variables.items() if not variable.trainable}
    assert statistics == {"norm/moving_mean", "norm/moving_variance"}
    assert statistics & assigned_by(made.tower.train_ops[0]) == (statistics if index == 0 else set())


def assigned_by(train_op):
    """Names of the variables that an op, and all that it needs, assign."""
    found, todo = set(), [train_op]
    while todo:
        op = todo.pop()
        if op not in found:
            found.add(op)
            todo += [tensor.op for tensor in op.inputs] + list(op.control_inputs)
    return {op.inputs[0].op.name for op in found if op.type == "AssignVariableOp"}
