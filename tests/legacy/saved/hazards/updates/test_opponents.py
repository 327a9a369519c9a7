"""Train ops of a generator or critic that train the other as well, beside var_lists and stages of one network."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.updates.opponents import (
    actors_that_train_critics,
    critics_that_train_generators,
    generators_that_train_critics,
)
from tests.legacy.saved.graphs import saved, traced

v1 = tf.compat.v1


def found(build, check=generators_that_train_critics):
    graph = saved(traced(build), trainable_variables=["g", "c"])
    analysis = analyse_graph(graph, "made-for-a-test", ["c_train", "g_train"])
    return [hazard.id for hazard in check(WholeGraph(graph, analysis), analysis)]


def variables():
    g = v1.get_variable("g", [3, 4], use_resource=False)
    return g, v1.get_variable("c", [4, 1], use_resource=False)


@pytest.mark.parametrize("all_variables, count", [(True, 1), (False, 0)])
def test_a_generator_without_a_list_of_variables_is_named(all_variables, count):
    def build():
        g, c = variables()
        made = tf.tanh(v1.random_normal([4, 3]) @ g)
        of_made, of_real = (tf.reduce_mean(x @ c) for x in (made, v1.placeholder(tf.float32, [4, 4], "real")))
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(of_made - of_real, var_list=[c], name="c_train")
        optimizer.minimize(-of_made, var_list=[g, c] if all_variables else [g], name="g_train")

    assert found(build) == ["CRITIC_TRAINED_BY_GENERATOR"] * count


@pytest.mark.parametrize("all_variables, with_real, count", [(True, True, 1), (False, True, 0), (True, False, 0)])
def test_a_critic_without_a_list_of_variables_is_named(all_variables, with_real, count):
    """A network that reads made examples alone may help their maker, as one that tells the codes of a generator."""

    def build():
        g, c = variables()
        made = tf.tanh(v1.random_normal([4, 3]) @ g)
        loss = of_made = tf.reduce_mean(made @ c)
        if with_real:
            loss -= tf.reduce_mean(v1.placeholder(tf.float32, [4, 4], "real") @ c)
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(loss, var_list=[g, c] if all_variables else [c], name="c_train")
        optimizer.minimize(-of_made, var_list=[g], name="g_train")

    assert found(build, critics_that_train_generators) == ["GENERATOR_TRAINED_BY_CRITIC"] * count


@pytest.mark.parametrize(
    "of_made, of_real, count",
    [
        (0.0, 1.0, 1),
        (1.0, 0.0, 0),  # the generator helps the critic
        (0.0, 0.0, 0),  # the real examples have the label of the made ones
    ],
)
@pytest.mark.parametrize("check", [generators_that_train_critics, critics_that_train_generators])
def test_two_train_ops_of_all_variables_train_each_others(check, of_made, of_real, count):
    def build():
        g, c = variables()
        made, real = tf.tanh(v1.random_normal([4, 3]) @ g) @ c, v1.placeholder(tf.float32, [4, 4], "real") @ c
        bias = v1.get_variable("bias", [1], use_resource=False)
        entropy = lambda logits, label: tf.reduce_mean(  # noqa: E731
            tf.nn.sigmoid_cross_entropy_with_logits(logits=logits + bias, labels=tf.fill([4, 1], label))
        )
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(entropy(made, of_made) + entropy(real, of_real), var_list=[g, c, bias], name="c_train")
        optimizer.minimize(entropy(made, 1.0), var_list=[g, c, bias], name="g_train")

    graph = saved(traced(build), trainable_variables=["g", "c", "bias"])
    analysis = analyse_graph(graph, "made-for-a-test", ["c_train", "g_train"])
    hazards = list(check(WholeGraph(graph, analysis), analysis))
    assert len(hazards) == count
    for hazard in hazards:
        assert (
            "trains 2 variables of the critic besides 1 variable of the generator (bias, c)" in hazard.description
            or ("trains 1 variable of the generator besides 2 variables of the critic (g)" in hazard.description)
        )


def test_a_head_that_is_trained_alone_and_with_its_layers_is_not():
    def build():
        g, c = variables()
        loss = tf.reduce_mean(tf.square(tf.tanh(v1.placeholder(tf.float32, [4, 3], "x") @ g) @ c))
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(loss, var_list=[c], name="c_train")
        optimizer.minimize(loss, var_list=[g, c], name="g_train")

    assert found(build) == []


@pytest.mark.parametrize("all_variables, labelled, count", [(True, False, 1), (False, False, 0), (True, True, 0)])
def test_an_actor_without_a_list_of_variables_is_named(all_variables, labelled, count):
    """Layers before a head that was trained alone are trained with it, by a loss with labels."""

    def build():
        g, c = variables()
        values = lambda actions: tf.squeeze(actions @ c, 1)  # noqa: E731
        returns = v1.placeholder(tf.float32, [4], "returns")
        loss = tf.reduce_mean(tf.square(values(v1.placeholder(tf.float32, [4, 4], "actions")) - returns))
        chosen = values(tf.tanh(v1.placeholder(tf.float32, [4, 3], "states") @ g))
        actors = tf.reduce_mean(tf.square(chosen - returns)) if labelled else -tf.reduce_mean(chosen)
        optimizer = v1.train.GradientDescentOptimizer(0.5)
        optimizer.minimize(loss, var_list=[c], name="c_train")
        optimizer.minimize(actors, var_list=[g, c] if all_variables else [g], name="g_train")

    assert found(build, actors_that_train_critics) == ["CRITIC_TRAINED_BY_ACTOR"] * count
