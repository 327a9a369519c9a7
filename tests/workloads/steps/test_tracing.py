"""Variables of a workload with a step of its own: of its losses, and of its update."""

import tensorflow as tf

from tests.small_steps import Weighed
from workloads import initializers
from workloads.steps.tracing import first_state, trace_step


def test_the_losses_tell_the_variables_of_the_model():
    specs = trace_step(Weighed(), 2, 2).specs
    assert [(spec.name, spec.shape, spec.trainable) for spec in specs] == [("mean", (), False), ("w", (3,), True)]


def test_each_replica_may_ask_for_a_state_of_its_own_and_noise():
    def loss(scope, batch):
        state = scope.get(("s0", "s1")[scope.replica], (), initializers.Constant(0.0), trainable=False)
        return tf.reduce_sum(scope.uniform("noise", (2,))) + state

    class Own(Weighed):
        def losses(self):
            return [loss]

    traced = trace_step(Own(), 2, 2)
    assert [spec.name for spec in traced.specs] == ["s0", "s1"]
    assert {name: (spec.shape, spec.kind) for name, spec in traced.noises.items()} == {"noise": ((2,), "uniform")}


def test_a_variable_of_the_update_that_a_loss_reads_keeps_its_dtype():
    def loss(scope, batch):
        count = scope.get("count", (), trainable=False)
        assert count.dtype == tf.int64
        return tf.cast(count, tf.float32) * tf.reduce_sum(scope.get("w", (3,)))

    class Counted(Weighed):
        def losses(self):
            return [loss]

    assert [spec.name for spec in trace_step(Counted(), 2, 1).specs] == ["w"]


def test_first_values_of_slots_averages_and_others():
    workload = Weighed()
    state = first_state(workload, trace_step(workload, 2, 2).specs, seed=0)
    assert state.weights["w"].tolist() == state.averages["w/Average"].tolist() == [0.5] * 3
    assert state.slots["w/Momentum"].tolist() == [0.0] * 3
    assert {name: value.item() for name, value in state.statistics.items()} == {"mean": 0.0, "count": 7}
    assert state.statistics["count"].dtype == "int64"
