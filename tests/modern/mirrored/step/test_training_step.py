import dataclasses

import pytest
import tensorflow as tf

from modern.mirrored.state.variables import LocalState
from modern.mirrored.step.training_step import ReplicaFrame, TrainingStep
from modern.options import ModernOptions
from tests.cases import Dyadic, Everything, ThreeParts
from workloads import schedules
from workloads.job import Job
from workloads.scope import Scope
from workloads.support.errors import InputError
from workloads.workload import MovingAverage

STEP = tf.constant(0, tf.int64)


def local_state(**weights):
    """A `LocalState` with scalar weights and their averages, at step 2."""
    variables = {name: tf.Variable(value) for name, value in weights.items()}
    averages = {name: tf.Variable(0.0) for name in weights}
    return LocalState(0, tf.Variable(2, dtype=tf.int64), variables, {}, {}, averages)


def training_step(workload=None, **options):
    """A `TrainingStep` of two replicas with two examples each, without variables or rules."""
    return TrainingStep(Job(workload or Dyadic(), 2, 4), ModernOptions(**options), None, None)


@pytest.mark.parametrize("options", [{"autodiff": "graph"}, {"autodiff": "tape"}, {"xla": True}], ids=str)
def test_loss_and_gradients_by_hand(options):
    step = training_step(**options)

    @tf.function
    def run(x):
        return step._forward_backward(local, STEP, 0, {"x": x})

    local = local_state(a=2.0, b=4.0)
    loss, gradients, updates, masks = run(tf.constant([1.0, 3.0]))
    assert float(loss) == 16.0  # mean(x) a b
    assert (float(gradients["a"]), float(gradients["b"])) == (8.0, 4.0)
    assert updates == {} and masks == {}


def test_the_noise_that_is_drawn_ahead_for_xla_is_the_models():
    job = Job(Everything(), 2, 4)
    ahead = TrainingStep(job, ModernOptions(), None, None)._draw_noise(STEP, 1)
    drawn = {name: ReplicaFrame(job, STEP, 1, {}, {}).noise(name, tuple(value.shape)) for name, value in ahead.items()}
    other = {name: ReplicaFrame(job, STEP, 0, {}, {}).noise(name, tuple(value.shape)) for name, value in ahead.items()}
    assert ahead
    for name, value in ahead.items():
        assert value.numpy().tobytes() == drawn[name].numpy().tobytes() != other[name].numpy().tobytes()


class DrawsOnce(Dyadic):
    def loss(self, scope, batch):
        return super().loss(scope, batch) * tf.reduce_sum(scope.common.uniform("drawn", (2,)))


def test_noise_that_all_replicas_have_is_drawn_ahead_as_one():
    step = TrainingStep(Job(DrawsOnce(), 2, 4), ModernOptions(), None, None)
    first, second = (step._draw_noise(STEP, replica)["drawn"].numpy() for replica in range(2))
    assert first.tobytes() == second.tobytes()


class DrawsInLoop(Dyadic):
    def loss(self, scope, batch):
        return super().loss(scope, batch) + tf.reduce_sum(scope.uniform("drop", (2,), turn=tf.constant(1)))


def test_noise_of_a_loop_is_not_drawn_ahead_for_xla():
    with pytest.raises(InputError, match="--xla: got True, not with noise that a loop draws: drop"):
        TrainingStep(Job(DrawsInLoop(), 2, 4), ModernOptions(), None, None)._draw_noise(STEP, 1)


def test_a_frame_answers_with_the_replicas_values_and_the_noise_given():
    values, noise = {"layer/w": tf.constant(5.0)}, tf.constant([0.5])
    frame = ReplicaFrame(Job(Dyadic(), 1), STEP, 0, values, {"layer/drop": noise})
    scope = Scope(frame).child("layer")
    assert scope.get("w", ()) is values["layer/w"]
    assert scope.uniform("drop", (1,)).numpy().tolist() == [0.5]


def test_the_learning_rate_is_the_schedules():
    schedule = schedules.PiecewiseConstant((1,), (0.5, 0.25))
    step = training_step(dataclasses.replace(Dyadic(), learning_rate=schedule))
    rate = tf.function(step._rate)
    assert [float(rate(tf.constant(number, tf.int64))) for number in (1, 2)] == [0.5, 0.25]


def test_a_step_is_counted_once():
    local = local_state(a=1.0)
    training_step()._count_step(local)
    assert int(local.step) == 3


def test_averages_are_moved_only_where_the_workload_has_them():
    local = local_state(a=8.0)
    training_step()._update_averages(local)
    assert float(local.averages["a"]) == 0.0
    training_step(dataclasses.replace(Dyadic(), moving_average=MovingAverage(0.75, False)))._update_averages(local)
    assert float(local.averages["a"]) == 2.0


@pytest.mark.parametrize("exact, terms", [(True, 2), (False, 3)])
def test_where_bits_are_compared_the_parts_of_a_gradient_are_added_in_order(exact, terms):
    step, local = training_step(ThreeParts(), exact=exact), local_state(a=0.5, b=4.0)
    run = tf.function(lambda x: step._forward_backward(local, STEP, 0, {"x": x}).gradients)
    added = [
        op for op in run.get_concrete_function(tf.constant([1.0, 3.0])).graph.get_operations() if op.type == "AddN"
    ]
    assert max(len(op.inputs) for op in added) == terms
