"""Dropout whose result nothing takes, beside dropout that is used, that is off, and that of another model."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.unused_dropout import dropout_by_constants, dropped_twice, unused_dropout
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


def hazards(handed_on, drop):
    """Hazards of a layer with dropout, of which the loss takes `handed_on(layer, its dropout)`."""

    def build():
        w = v1.get_variable("w", [4, 4], use_resource=False)
        layer = tf.nn.relu(v1.placeholder(tf.float32, [2, 4], "x") @ w)
        loss = tf.reduce_mean(handed_on(layer, drop(layer)))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    return list(unused_dropout(WholeGraph(saved(traced(build), trainable_variables=["w"]))))


def of_old(x):
    """Dropout as the releases before 1.13 wrote it, which keep where a floor is 1."""
    with v1.name_scope("dropout"):
        return v1.div(x, 0.5) * tf.floor(0.5 + v1.random_uniform([2, 4]))


def of_1_15(x):
    """Dropout of 1.13 to 1.15, which keeps where a number is at least the rate."""
    with v1.name_scope("dropout"):
        return x * 2.0 * tf.cast(v1.random_uniform([2, 4]) >= 0.5, tf.float32)


@pytest.mark.parametrize("drop", [of_old, of_1_15])
@pytest.mark.parametrize("used", [True, False])
def test_dropout_that_no_op_takes_is_named(drop, used):
    found = hazards(lambda layer, dropped: dropped if used else layer, drop)
    assert [hazard.id for hazard in found] == ([] if used else ["DROPOUT_UNUSED"])
    assert all("no op uses the result: the loss is computed from Relu itself" in hazard.description for hazard in found)


def test_dropout_that_something_else_takes_is_not():
    def handed_on(layer, dropped):
        v1.summary.histogram("dropped", dropped)
        return layer

    assert hazards(handed_on, of_old) == []


@pytest.mark.parametrize("drop", [of_old, of_1_15])
@pytest.mark.parametrize("shared, count", [(True, 0), (False, 1)])
def test_dropout_of_the_steps_before_the_last_is_no_hazard(drop, shared, count):
    def build():
        w, u = (v1.get_variable(name, [4, 4], use_resource=False) for name in "wu")
        first = tf.tanh(v1.placeholder(tf.float32, [2, 4], "x") @ w)
        drop(first)
        last = tf.tanh(v1.placeholder(tf.float32, [2, 4], "y") @ w + first @ (w if shared else u))
        v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(drop(last)), name="train")

    found = unused_dropout(WholeGraph(saved(traced(build), trainable_variables=["w", "u"])))
    assert [hazard.id for hazard in found] == ["DROPOUT_UNUSED"] * count


def hazards_of_loop(take, of_state=False):
    """Hazards of a loop with dropout of its outputs, of which the loss takes `take(outputs, state)`."""

    def build():
        w = v1.get_variable("w", [4, 4], use_resource=False)
        inputs = v1.TensorArray(tf.float32, 3).unstack(v1.placeholder(tf.float32, [3, 2, 4], "x"))

        def step(time, state, outputs):
            new = tf.tanh((state + inputs.read(time)) @ w)
            dropped = of_old(new)
            kept = v1.where(time >= [2, 3], tf.zeros([2, 4]), dropped)
            return time + 1, dropped if of_state else new, outputs.write(time, kept)

        start = (0, tf.zeros([2, 4]), v1.TensorArray(tf.float32, 3))
        _, state, outputs = tf.while_loop(lambda time, *_: time < 3, step, start)
        loss = tf.reduce_mean(take(tf.transpose(outputs.stack(), [1, 0, 2]), state))
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    return [hazard.id for hazard in unused_dropout(WholeGraph(saved(traced(build), trainable_variables=["w"])))]


def summarized(outputs, state):
    v1.summary.histogram("outputs", outputs)
    return state


def test_dropout_of_outputs_beside_a_loss_of_the_final_state_is_named():
    assert hazards_of_loop(lambda outputs, state: state) == ["DROPOUT_UNUSED"]
    assert hazards_of_loop(lambda outputs, state: outputs) == []
    assert hazards_of_loop(lambda outputs, state: state + outputs[:, -1]) == []
    assert hazards_of_loop(lambda outputs, state: state, of_state=True) == []
    assert hazards_of_loop(summarized) == []


def test_noise_that_is_no_dropout_is_not():
    assert hazards(lambda layer, noisy: layer, lambda x: x * v1.random_uniform([2, 4])) == []


@pytest.mark.parametrize(
    "mask, count",
    [
        (2.0 * np.eye(4, 3), 1),
        (np.eye(4, 3), 0),
        (np.full([4, 3], 2.0), 0),
        (np.arange(12.0).reshape(4, 3), 0),
        (2.0 * np.eye(3)[0], 0),
    ],
)
def test_dropout_by_a_constant_array_is_named(mask, count):
    def loss():
        layer = tf.nn.relu(minimized.fed("x", 4, 5) @ minimized.variable("w", 5, 3))
        return tf.reduce_mean(tf.square(layer * mask.astype(np.float32)))

    assert minimized.found(dropout_by_constants, loss) == ["DROPOUT_BY_CONSTANTS"] * count


def kept(x, share, shape=(6, 4)):
    """What dropout of TensorFlow 1.4 leaves."""
    return x / share * tf.floor(share + v1.random_uniform(list(shape)))


@pytest.mark.parametrize(
    "twice, count",
    [
        (lambda x: kept(kept(x, 0.5), 0.5), 1),
        (lambda x: kept(tf.reshape(kept(x, 0.5), [6, 4]), 0.5), 1),
        (lambda x: kept(kept(x, 0.5), 0.75), 0),  # each has its own setting
        (lambda x: kept(kept(x, 1.0), 1.0), 0),
        (lambda x: kept(tf.tanh(kept(x, 0.5)), 0.5), 0),
        (lambda x: kept(kept(x, 0.5, (6, 1)), 0.5), 0),
        (lambda x: kept(x, 0.5) + kept(x, 0.5), 0),
    ],
)
def test_dropout_of_what_dropout_left_is_named(twice, count):
    def loss():
        hidden = twice(tf.nn.relu(minimized.fed("x", 6, 3) @ minimized.variable("w", 3, 4)))
        return tf.reduce_mean(tf.square(hidden @ minimized.variable("v", 4, 1)))

    assert minimized.found(dropped_twice, loss) == ["DROPPED_TWICE"] * count


def test_dropout_twice_in_a_cell_is_that_of_its_wrapper():
    def loss():
        with tf.name_scope("rnn/basic_cell"):
            hidden = kept(kept(tf.nn.relu(minimized.fed("x", 6, 3) @ minimized.variable("w", 3, 4)), 0.5), 0.5)
        return tf.reduce_mean(tf.square(hidden @ minimized.variable("v", 4, 1)))

    assert minimized.found(dropped_twice, loss) == []
