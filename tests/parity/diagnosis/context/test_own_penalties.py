"""Penalties of a loss are found in its terms, and nothing else that depends on weights is taken for one."""

import dataclasses

import pytest
import tensorflow as tf

from parity.diagnosis.context.own_penalties import own_penalties
from tests.cases import Dyadic, Everything
from workloads import layers
from workloads.workload import InputSpec, Workload


@dataclasses.dataclass(frozen=True)
class Penalized(Workload):
    """Two dense layers, a scalar temperature, and a loss with terms of its own, made by `terms(scope, data)`."""

    name: str = "penalized"
    terms: object = None

    def inputs(self):
        return {"x": InputSpec((3,))}

    def loss(self, scope, batch):
        x = layers.dense(scope.child("a"), batch["x"], 2) * tf.exp(scope.get("temperature", ()))
        data = tf.reduce_mean(layers.dense(scope.child("b"), x, 1))
        weights = {name: scope.get(name, shape) for name, shape in (("a/weights", (3, 2)), ("b/weights", (2, 1)))}
        return data if self.terms is None else self.terms(data, weights["a/weights"], weights["b/weights"])


CASES = {
    "none": (None, ()),
    "one": (lambda data, a, b: data + 0.1 * tf.nn.l2_loss(a), ("a/weights",)),
    "in a list": (
        lambda data, a, b: tf.add_n([data, tf.nn.l2_loss(a), tf.reduce_sum(abs(b))]),
        ("a/weights", "b/weights"),
    ),
    "stacked": (lambda data, a, b: tf.reduce_sum(tf.stack([data, tf.nn.l2_loss(b)])), ("b/weights",)),
    "a sum of penalties": (lambda data, a, b: 2 * (data - (tf.norm(a) + tf.norm(b))), ("a/weights", "b/weights")),
    "a factor of the data": (lambda data, a, b: data * tf.nn.l2_loss(a), ()),
    "under a root": (lambda data, a, b: tf.sqrt(data + tf.nn.l2_loss(a)), ()),
}


@pytest.mark.parametrize("case", CASES)
def test_a_penalty_is_a_term_of_weights_alone(case):
    terms, names = CASES[case]
    assert own_penalties(Penalized(terms=terms)) == names


def test_what_scope_decay_adds_is_a_penalty_too():
    assert own_penalties(Everything()) == ("first/weights",)
    assert own_penalties(Everything(weight_decay=0.0)) == ()
    assert own_penalties(Dyadic()) == ()  # mean(x * a * b): scalars, and no terms
