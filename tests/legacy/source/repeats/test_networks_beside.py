"""Networks that are used once beside others: one function each, with the activation behind the last layer."""

import tensorflow as tf

from legacy.source.repeats.networks import LEAST_WEIGHTS
from legacy.source.repeats.networks_beside import networks_beside
from tests.legacy.source.repeats.test_networks import calls_of, definitions_of, made_of, network

DISCRIMINATOR = {f"gan/d/w{n}": [3, 3] for n in range(4)}
GENERATOR = {f"gan/g/w{n}": [3, 3] for n in range(5)}
BOTH = {**DISCRIMINATOR, **GENERATOR}


def generated(y, weights):
    with tf.name_scope("g"):
        return tf.tanh(network(y, weights) + 0.5)


def adversarial(x, y, weights):
    made = generated(y, weights[4:])
    return tf.reduce_mean(network(x, weights[:4])) - tf.reduce_mean(network(made * 0.5, weights[:4]))


def test_a_generator_that_is_used_once_is_a_function_beside_its_discriminator():
    made = made_of(adversarial, BOTH)
    assert [(one.name, one.parameters) for one in made.functions] == [("d", ["scope", "x"]), ("g", ["scope", "x"])]
    (generator,) = calls_of(made, "g")
    assert generator.targets[0].startswith("g/Tanh") and len(calls_of(made, "d")) == 2


def test_one_network_alone_is_no_function():
    assert not made_of(lambda x, y, w: tf.reduce_mean(generated(y, w)), GENERATOR).functions


def test_few_weights_are_no_network():
    few = {name: shape for name, shape in BOTH.items() if name not in ("gan/g/w3", "gan/g/w4")}
    assert LEAST_WEIGHTS == 4 and [one.name for one in made_of(adversarial, few).functions] == ["d"]


def test_layers_with_the_weights_of_another_network_between_them_are_none():
    def build(x, y, weights):
        between = network(tf.exp(network(y, weights[4:6])), weights[:4])
        return tf.reduce_mean(network(x, weights[:4])) - tf.reduce_mean(network(tf.exp(between), weights[6:]))

    definitions, shape = definitions_of(build, BOTH)
    assert [one.name for one in made_of(build, BOTH).functions] == ["d"]
    assert networks_beside([], [range(len(definitions))], definitions, shape) == []
