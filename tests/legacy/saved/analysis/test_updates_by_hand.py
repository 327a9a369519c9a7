"""Counters and learning rates of assignments, in graphs that a few ops of TensorFlow 1.x make."""

import pytest
import tensorflow as tf

from legacy.saved.analysis import updates_by_hand
from legacy.saved.analysis.context import Context
from legacy.saved.analysis.effects import describe_effects
from tests.legacy.saved.graphs import traced
from workloads.lifted.plan import Effect

v1 = tf.compat.v1


def found(function, change, shape=(2,), resource=False):
    """What `function` says of the update "update" that `change` makes of the variable w and its gradient."""

    def build():
        w = v1.get_variable("w", initializer=tf.ones(shape), use_resource=resource)
        rate = v1.placeholder(tf.float32, [], "rate")
        change(w, rate, tf.gradients(tf.reduce_sum(tf.square(w)), [w])[0])

    context = Context(traced(build), ["w"])
    names = [name for name in context.state.writes if name != "w/Assign"]
    (effect,) = describe_effects(context.graph, context.imported, context.state, names)
    return function(context, effect)


def clip(gradient):
    """The number by which a clipping by the norm multiplies a gradient."""
    return tf.minimum(1.0, 5.0 / tf.norm(gradient))


def trust(w, gradient):
    """The ratio of norms that LARS multiplies a gradient by."""
    return tf.norm(w) * tf.math.reciprocal(tf.norm(gradient))


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize(
    "change, by",
    [
        (lambda w, rate, gradient: v1.assign_add(w, 2.0, name="update"), 2.0),
        (lambda w, rate, gradient: v1.assign(w, w + 1.0, name="update"), 1.0),
        (lambda w, rate, gradient: v1.assign(w, 3.0 + w, name="update"), 3.0),
        (lambda w, rate, gradient: v1.assign(w, w + rate, name="update"), None),
        (lambda w, rate, gradient: v1.assign(w, w * 2.0, name="update"), None),
        (lambda w, rate, gradient: v1.assign(w, w + w, name="update"), None),
    ],
)
def test_what_a_counter_rises_by(change, by, resource):
    assert found(updates_by_hand.addend, change, (), resource) == by


@pytest.mark.parametrize(
    "change, rate",
    [
        (lambda w, rate, gradient: v1.assign(w, w - rate * (gradient / 2.0), name="update"), "rate:0"),
        (lambda w, rate, gradient: v1.assign(w, w - rate * gradient / tf.sqrt(w), name="update"), "rate:0"),
        (lambda w, rate, gradient: v1.assign_sub(w, gradient * rate, name="update"), "rate:0"),
        (
            lambda w, rate, gradient: v1.assign(w, w - clip(gradient) * (rate * gradient), name="update"),
            "rate:0",
        ),
        (lambda w, rate, gradient: v1.assign_sub(w, clip(gradient) * gradient, name="update"), None),
        (lambda w, rate, gradient: v1.assign_sub(w, 0.9 * tf.ones([2]) + rate * gradient, name="update"), "rate:0"),
        (lambda w, rate, gradient: v1.assign(w, w + (0.9 * tf.ones([2]) - rate * gradient), name="update"), "rate:0"),
        (lambda w, rate, gradient: v1.assign_add(w, 0.9 * tf.ones([2]) - rate * gradient, name="update"), "rate:0"),
        (lambda w, rate, gradient: v1.assign_sub(w, rate * trust(w, gradient) * gradient, name="update"), "rate:0"),
        (lambda w, rate, gradient: v1.assign_sub(w, trust(w, gradient) * gradient, name="update"), None),
        (lambda w, rate, gradient: v1.assign(w, rate * gradient, name="update"), None),
        (lambda w, rate, gradient: v1.assign(w, w - gradient, name="update"), None),
        (lambda w, rate, gradient: v1.assign_add(w, gradient * rate, name="update"), None),
    ],
)
def test_the_learning_rate_of_an_optimizer_written_by_hand(change, rate):
    assert found(updates_by_hand.learning_rate, change) == rate


def test_an_update_without_a_value_adds_no_constant():
    assert updates_by_hand.addend(None, Effect("push", "StackPush", ["w"], [])) is None
