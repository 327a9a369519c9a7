import dataclasses

import pytest
import tensorflow as tf

from modern.mirrored.state.tf1_rules import Tf1Rules
from modern.mirrored.state.variables import MirroredState
from modern.model_parallel.step import PipelineStep
from modern.options import ModernOptions
from tests.cases import Dyadic
from workloads import initializers
from workloads.job import Job
from workloads.program import State

LAYER_DEVICES = ("/device:CPU:0", "/device:CPU:1")


@dataclasses.dataclass(frozen=True)
class TwoLayers(Dyadic):
    """mean(x a) in the first pipeline stage, times b in the second; the mean of x is a statistic."""

    def loss(self, scope, batch):
        with scope.stage(0, 2):
            scope.get("seen", (), initializers.Constant(0.0), trainable=False)
            scope.update("seen", tf.reduce_mean(batch["x"]))
            middle = tf.reduce_mean(batch["x"] * scope.get("a", ()))
        with scope.stage(1, 2):
            return middle * scope.get("b", ())


def one_step(workload):
    """(step, values, `State` after it) of one step of the micro-batches x = 1, 3 and x = 5, 7, from a = 1 and b = 2."""
    weights = {"a": tf.constant(1.0).numpy(), "b": tf.constant(2.0).numpy()}
    state = State(0, weights, {}, {"seen": tf.constant(0.0).numpy()}, {})
    places = {"a": LAYER_DEVICES[0], "b": LAYER_DEVICES[1], "seen": LAYER_DEVICES[0]}
    variables = MirroredState(tf.distribute.get_strategy(), state, places)
    rules = Tf1Rules(workload.optimizer)
    step = PipelineStep(Job(workload, 2, 4), ModernOptions(), variables, rules, LAYER_DEVICES)
    function = tf.function(step, autograph=False)
    batches = [{"x": tf.constant([1.0, 3.0])}, {"x": tf.constant([5.0, 7.0])}]
    graph = function.get_concrete_function(batches).graph
    return graph, function(batches), variables.read()[0]


def test_micro_batches_are_combined_into_one_update():
    _, seen, state = one_step(TwoLayers())
    assert [float(loss) for loss in seen.loss] == [4.0, 12.0]
    assert [float(gradients["a"]) for gradients in seen.gradients] == [4.0, 12.0]
    assert (float(seen.combined["a"]), float(seen.combined["b"])) == (8.0, 4.0)
    assert (state.step, state.weights["a"], state.weights["b"]) == (1, 0.5, 1.75)


@pytest.mark.parametrize("statistics, expected", [("first_tower", 2.0), ("last_tower", 6.0), ("mean_of_towers", 4.0)])
def test_statistics_are_one_micro_batchs_or_the_mean(statistics, expected):
    _, seen, state = one_step(TwoLayers(statistics=statistics))
    assert [float(proposals["seen"]) for proposals in seen.proposals] == [2.0, 6.0]
    assert state.statistics["seen"] == expected


def test_every_layer_is_computed_on_its_device():
    graph, _, _ = one_step(TwoLayers())
    operations = graph.get_operations()
    means = [op for op in operations if op.type == "Mean"]
    combining = [op.device[-5:] for op in means if op.inputs[0].op.type == "Pack"]
    assert {op.device[-5:] for op in means if op.inputs[0].op.type != "Pack"} == {"CPU:0"}  # the first layer's
    assert {op.device[-5:] for op in operations if op.type == "Mul" and op.outputs[0].shape.rank == 0} == {"CPU:1"}
    assert sorted(combining) == ["CPU:0", "CPU:1"]  # each weight's gradients are combined beside it
