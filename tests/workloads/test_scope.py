import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from tests.cases import Dyadic
from workloads import initializers, scope, tracing
from workloads.frame import Frame
from workloads.numerics import random_keys
from workloads.support.errors import InputError


class StubFrame(Frame):
    def variable(self, name, shape, initializer, trainable):
        return tf.zeros(shape, self.dtype)


def noise(seed=0, step=0, replica=0, name="n", dtype="float32", turn=None):
    frame = StubFrame(dtype, seed, tf.constant(step, tf.int64), replica)
    return scope.Scope(frame).uniform(name, (64,), turn).numpy()


def test_noise_is_its_own_for_every_seed_step_replica_and_name():
    draws = [noise(), noise(seed=1), noise(step=1), noise(replica=1), noise(name="m")]
    assert len({draw.tobytes() for draw in draws}) == 5
    assert noise().tobytes() == draws[0].tobytes()
    assert draws[0].min() >= 0 and draws[0].max() < 1


def test_noise_of_a_loop_is_its_own_for_every_turn():
    draws = [noise(turn=tf.constant(turn)) for turn in range(3)]
    assert len({draw.tobytes() for draw in draws}) == 3 and draws[0].tobytes() == noise().tobytes()
    seed = [random_keys.noise_key(0, 0, "n") + 2 * random_keys.KEY_STRIDE, 2 * random_keys.KEY_STRIDE]
    assert draws[2].tobytes() == tf.raw_ops.StatelessRandomUniform(shape=[64], seed=seed).numpy().tobytes()


def test_common_noise_is_the_same_on_every_replica_and_no_replicas_own():
    frames = [StubFrame("float32", 3, tf.constant(2, tf.int64), replica) for replica in range(2)]
    common = [scope.Scope(frame).child("a").common.uniform("n", (8,)).numpy().tobytes() for frame in frames]
    own = [scope.Scope(frame).child("a").uniform("n", (8,)).numpy().tobytes() for frame in frames]
    assert common[0] == common[1] and len({*common, *own}) == 3
    assert [frame.replica for frame in frames] == [0, 1]


def test_noise_is_the_same_in_both_precisions():
    assert noise(dtype="float64").tobytes() == noise().astype("float64").tobytes()


def test_normal_noise_has_its_deviation_and_its_own_numbers():
    frame = StubFrame("float64", 0, tf.constant(0, tf.int64), 0)
    here = scope.Scope(frame).child("z")
    normal, truncated = here.normal("a", (4000,)).numpy(), here.truncated_normal("a", (4000,)).numpy()
    assert normal.dtype == np.float64 and normal.tobytes() == here.normal("a", (4000,)).numpy().tobytes()
    assert abs(normal.mean()) < 0.1 and abs(normal.std() - 1) < 0.1 and np.abs(normal).max() > 2
    assert np.abs(truncated).max() <= 2 and truncated.std() < normal.std()


def test_decay_adds_half_the_square_once_per_tower():
    frame = StubFrame("float32", 0, tf.constant(0, tf.int64), 0)
    scope.Scope(frame).decay(0.5, tf.constant([2.0, 4.0]))
    assert [float(penalty) for penalty in frame.penalties] == [0.5 * (4 + 16) / 2]


def test_child_scopes_prefix_names():
    @dataclasses.dataclass(frozen=True)
    class Nested(Dyadic):
        def loss(self, here, batch):
            return tf.reduce_mean(batch["x"]) * here.child("a").child("b").get("w", (), initializers.Constant(1.0))

    assert [spec.name for spec in tracing.trace(Nested(), 2)] == ["a/b/w"]


def test_what_was_asked_for_is_asked_for_again_by_its_name():
    asked = scope.Scope(StubFrame("float32", 0, tf.constant(0, tf.int64), 0)).child("net")
    first = asked.get("w", [2, 3])
    assert asked.get("w") is first
    with pytest.raises(InputError, match="net/other.*was not asked for before"):
        asked.get("other")


def test_names_are_those_that_were_asked_for_in_order_within_the_scope():
    here = scope.Scope(StubFrame("float32", 0, tf.constant(0, tf.int64), 0))
    for name in ("b/kernel", "b/bias", "a/kernel"):
        here.get(name, (2,))
    here.child("a").get("bias", (2,))
    assert here.names() == ["b/kernel", "b/bias", "a/kernel", "a/bias"]
    assert here.names("/kernel") == ["b/kernel", "a/kernel"] and here.child("a").names("/kernel") == []
    assert here.child("a").names() == ["kernel", "bias"]


def test_integers_are_those_of_the_stateless_op():
    frame = StubFrame("float32", 0, tf.constant(0, tf.int64), 0)
    drawn = scope.Scope(frame).integers("a", (1000,), -2, 3)
    assert drawn.dtype == tf.int32 and set(drawn.numpy().tolist()) == set(range(-2, 3))
    seed = frame.noise_seed("a")
    expected = tf.raw_ops.StatelessRandomUniformInt(shape=(1000,), seed=seed, minval=-2, maxval=3)
    assert np.array_equal(drawn, expected)


def test_a_second_function_of_a_statistic_changes_what_the_first_one_makes_of_it():
    frame = StubFrame("float32", 0, tf.constant(0, tf.int64), 0)
    here = scope.Scope(frame)
    frame.values_given["mean"] = tf.constant(1.0)
    here.update("mean", lambda now: now + 1.0)
    here.update("mean", lambda now: now * 4.0)
    assert float(frame.updates["mean"]) == 8.0 and float(frame.changes["mean"](tf.constant(2.0))) == 12.0
    with pytest.raises(InputError, match="'mean' was updated twice in one pass"):
        here.update("mean", tf.constant(0.0))
