"""Dense layers one behind the other, with an activation or as a bottleneck, and without."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.models.linear_layers import layers_without_activation
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized

v1 = tf.compat.v1


def plain(x):
    return x


def found(width=8, activation=plain, also=lambda hidden: 0.0, outputs=2):
    def build():
        x = v1.placeholder(tf.float32, [4, 6], "x")
        w, b = (v1.get_variable(name, shape, use_resource=False) for name, shape in (("w", [6, width]), ("b", [width])))
        v = v1.get_variable("v", [width, outputs], use_resource=False)
        hidden = activation(tf.nn.bias_add(x @ w, b))
        loss = tf.reduce_mean(tf.square(hidden @ v)) + also(hidden)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, name="train")

    graph = saved(traced(build), trainable_variables=["w", "b", "v"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard.id for hazard in layers_without_activation(WholeGraph(graph, analysis), analysis)]


def floor_dropout(x):
    """Dropout as TensorFlow wrote it until 1.12."""
    return tf.divide(x, 0.5) * tf.floor(v1.random_uniform([4, 8]) + 0.5)


def compared_dropout(x):
    """Dropout as TensorFlow 1.15 wrote it."""
    return x * 2.0 * tf.cast(v1.random_uniform([4, 8]) >= 0.5, tf.float32)


@pytest.mark.parametrize("between", [plain, floor_dropout, compared_dropout])
def test_two_layers_that_are_one_are_named(between):
    assert found(activation=between) == ["LAYERS_WITHOUT_ACTIVATION"]


@pytest.mark.parametrize(
    "case",
    [
        {"activation": tf.nn.relu},
        {"activation": lambda h: h + tf.tanh(h)},
        {"activation": lambda h: floor_dropout(tf.nn.relu(h))},
        {"activation": lambda h: h * tf.sigmoid(h)},
        {"width": 1},  # a bottleneck
        {"width": 3, "outputs": 6},  # the code of an autoencoder
        {"also": lambda hidden: tf.reduce_mean(tf.square(hidden))},
    ],
)
def test_layers_with_an_activation_a_bottleneck_or_another_use_are_not(case):
    assert found(**case) == []


def test_a_layer_that_takes_examples_besides_is_a_layer_of_its_own():
    """A critic's first layer takes what a generator ends in, which is often linear, and examples."""

    def critic(takes_examples):
        def loss():
            x, z = minimized.fed("x", 4, 6), minimized.fed("z", 4, 3)
            made = z @ minimized.variable("g", 3, 6)
            first, last = minimized.variable("c", 6, 8), minimized.variable("d", 8, 1)
            score = tf.reduce_mean(tf.tanh(made @ first) @ last)
            return score - tf.reduce_mean(tf.tanh(x @ first) @ last) if takes_examples else score

        return minimized.found_by_analysis(layers_without_activation, loss)

    assert critic(True) == []
    assert critic(False) == ["LAYERS_WITHOUT_ACTIVATION"]


@pytest.mark.parametrize("trainable", [False, True])
@pytest.mark.parametrize("copied, expected", [((), True), (("w",), False), (("w", "v"), True)])
def test_a_layer_that_a_target_network_has_without_the_next_is_a_layer_of_its_own(copied, expected, trainable):
    """The target is a moving average of the first layer: the second layer predicts it, and belongs to it not."""

    def build():
        x = v1.placeholder(tf.float32, [4, 6], "x")
        weights = {n: v1.get_variable(n, shape, use_resource=False) for n, shape in (("w", [6, 8]), ("v", [8, 8]))}
        target = x
        for name in copied:
            average = v1.get_variable(f"target_{name}", weights[name].shape, trainable=trainable, use_resource=False)
            v1.assign(average, 0.9 * average + 0.1 * weights[name], name=f"follow_{name}")
            target = target @ average
        loss = tf.reduce_mean((x @ weights["w"] @ weights["v"] - tf.stop_gradient(tf.reduce_sum(target))) ** 2)
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=list(weights.values()), name="train")

    names = ["w", "v", *(f"target_{name}" for name in copied if trainable)]
    graph = saved(traced(build), trainable_variables=names)
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    assert bool(list(layers_without_activation(WholeGraph(graph, analysis), analysis))) is expected


@pytest.mark.parametrize("is_decoded", [True, False])
def test_a_layer_whose_results_another_layer_takes_of_other_examples_is_not(is_decoded):
    """An autoencoder's code, of which a linear map gives the next one, and the code itself is decoded, too."""

    def loss():
        x, weight = minimized.fed("x", 4, 6), minimized.variable("w", 6, 3)
        following, decoder = minimized.variable("k", 3, 3), minimized.variable("d", 3, 6)
        error = tf.reduce_mean(tf.square(tf.tanh(x @ weight @ following) @ decoder - minimized.fed("y", 4, 6)))
        return error + tf.reduce_mean(tf.square(tf.tanh(x @ weight) @ decoder - x)) if is_decoded else error

    named = minimized.found_by_analysis(layers_without_activation, loss)
    assert named == ([] if is_decoded else ["LAYERS_WITHOUT_ACTIVATION"])


@pytest.mark.parametrize("is_memory", [True, False])
def test_a_weight_whose_rows_are_compared_with_the_data_is_a_memory(is_memory):
    """The shares of its rows, by which it is multiplied, are made by the rows themselves."""

    def loss():
        x, rows = minimized.fed("x", 4, 6), minimized.variable("rows", 3, 6)
        scores = tf.matmul(x, rows if is_memory else minimized.variable("keys", 3, 6), transpose_b=True)
        return tf.reduce_mean(tf.square(tf.nn.softmax(scores) @ rows @ minimized.variable("v", 6, 2)))

    named = minimized.found_by_analysis(layers_without_activation, loss)
    assert named == ([] if is_memory else ["LAYERS_WITHOUT_ACTIVATION"])
