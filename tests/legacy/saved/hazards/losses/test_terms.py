"""Terms that a loss contains more than once, sums beside means, and logarithms of probabilities."""

import functools
import math

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.losses.terms import logarithms_of_probabilities, repeated_terms, sums_beside_means
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.hazards import minimized
from tests.legacy.saved.hazards.two_towers import hazards

v1 = tf.compat.v1
#: A loss of two terms; what is minimized is `total`.
LOSS = """
    x = Placeholder()
    v = VariableV2()
    w = VariableV2()
    mean = Mul(x, v)
    decay = L2Loss(w)
    total = AddN(mean, decay)
    gradients/Fill = Const()
    gradients/total_grad/Mul = Mul(gradients/Fill, x)
    train = ApplyGradientDescent(v, gradients/total_grad/Mul)
    """


def test_a_term_of_two_collections_is_named():
    (found,) = hazards(repeated_terms, LOSS.replace("AddN(mean, decay)", "AddN(mean, decay, mean)"))
    assert found == ("TERM_REPEATED", "total", "total adds 1 term 2 times: mean")


def test_a_sum_that_is_added_again_repeats_its_terms():
    text = LOSS.replace("total = AddN(mean, decay)", "sum = Add(mean, decay)\n    total = AddN(sum, decay)")
    (found,) = hazards(repeated_terms, text)
    assert found[2] == "total adds 1 term 2 times: decay"


def test_terms_that_are_added_once_and_a_product_of_a_term_are_none():
    assert hazards(repeated_terms, LOSS) == []
    assert hazards(repeated_terms, LOSS.replace("AddN(mean, decay)", "Mul(mean, mean)")) == []


@pytest.mark.parametrize("axis, count", [([], 1), ([0], 0)])
def test_the_mean_of_a_scalar_is_the_term_itself(axis, count):
    """As of a loss of `tf.losses`, which is in the collection that the sum of all losses is of, and added to another.

    A loss and the mean of its parts are two terms.
    """

    def total():
        x, w = minimized.fed("x", 8, 4), minimized.variable("w", 4, 3)
        error = tf.reduce_mean(tf.square(x @ w), axis=None if axis == [] else 1)
        again = tf.reduce_mean(error, axis=tf.constant(axis, tf.int32))
        return tf.add_n([error if axis == [] else error[0], again + tf.reduce_sum(tf.abs(w))])

    assert minimized.found(repeated_terms, total) == ["TERM_REPEATED"] * count


def test_the_logarithm_of_a_softmax_is_named():
    text = LOSS.replace("mean = Mul(x, v)", "logits = Mul(x, v)\n    shares = {}\n    mean = Log(shares)")
    text = text.replace("(v, gradients/total_grad/Mul)", "(v, gradients/mean_grad/Mul)").replace(
        "train =", "gradients/mean_grad/Mul = Mul(gradients/total_grad/Mul, x)\n    train ="
    )
    (found,) = hazards(logarithms_of_probabilities, text.format("Softmax(logits)"))
    assert found[:2] == ("LOG_OF_PROBABILITY", "mean") and "is the logarithm of shares" in found[2]
    turned = "Transpose(other)\n    other = Softmax(logits)"  # along another dimension than the last
    (found,) = hazards(logarithms_of_probabilities, text.format(turned))
    assert "is the logarithm of other" in found[2]
    from_one = "Sub(one, other)\n    one = Const()\n    other = Sigmoid(logits)"
    (found,) = hazards(logarithms_of_probabilities, text.format(from_one))
    assert "is the logarithm of other" in found[2]
    chosen = "Sum(product)\n    product = Mul(code, other)\n    code = OneHot(x)\n    other = Softmax(logits)"
    (found,) = hazards(logarithms_of_probabilities, text.format(chosen))
    assert "is the logarithm of other" in found[2]
    weighted = chosen.replace("OneHot(x)", "Neg(x)")  # any sum of shares may be meant
    for safe in (weighted, "Exp(logits)", "Add(softmax, little)\n    little = Const()\n    softmax = Softmax(logits)"):
        assert hazards(logarithms_of_probabilities, text.format(safe)) == []


@pytest.mark.parametrize("second, count", [("w", 1), ("u", 0)])
def test_a_term_that_is_computed_again_is_named(second, count):
    def total():
        weights = {name: minimized.variable(name, 4, 3) for name in "wu"}
        x, y = minimized.fed("x", 8, 4), minimized.fed("y", 8, 3)
        errors = [0.5 * tf.reduce_mean(tf.square(x @ weights[name] - y)) for name in ("w", second)]
        return errors[0] + errors[1]

    assert minimized.found(repeated_terms, total) == ["TERM_REPEATED"] * count


def sums_in(make_loss, batch=8):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        errors = v1.placeholder(tf.float32, [batch, 4], "x") @ w
        v1.train.GradientDescentOptimizer(0.5).minimize(make_loss(errors, w), name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "made-for-a-test", ["train"])
    return [hazard.id for hazard in sums_beside_means(WholeGraph(graph, analysis), analysis)]


def mean(errors):
    return tf.reduce_mean(tf.abs(errors))


def mean_of_one(number):
    """As `tf.reduce_mean` of a scalar was written."""
    return tf.reduce_mean(number, axis=tf.constant([], tf.int32))


def units(errors):
    """As many numbers of each example as there are examples."""
    return tf.sigmoid(tf.matmul(errors, tf.ones([3, 8])))


@pytest.mark.parametrize(
    "make_loss",
    [
        lambda errors, w: mean(errors) + 0.01 * tf.nn.l2_loss(errors),
        lambda errors, w: mean(errors) - 0.5 * tf.reduce_sum(tf.exp(errors)),
        lambda errors, w: mean(errors) - tf.reduce_sum(errors) / (3 * math.log(2.0)),  # bits of all examples together
        lambda errors, w: mean(errors) + tf.reduce_sum(tf.math.log(tf.reduce_mean(units(errors), 1))),
        lambda errors, w: v1.losses.compute_weighted_loss(tf.abs(errors)) + 0.01 * tf.nn.l2_loss(errors),
    ],
)
def test_a_sum_over_examples_beside_a_mean_is_named(make_loss):
    assert sums_in(make_loss) == ["SUM_BESIDE_MEAN"]


@pytest.mark.parametrize(
    "make_loss",
    [
        lambda errors, w: mean(errors) + 0.01 * tf.nn.l2_loss(w),
        # of as many units as there are examples, over which their means are taken
        lambda errors, w: mean(errors) + tf.reduce_sum(tf.math.log(tf.reduce_mean(units(errors), 0))),
        lambda errors, w: mean(errors) + tf.nn.l2_loss(errors) / 8.0,
        lambda errors, w: mean(errors) + tf.reduce_sum(tf.exp(errors)) / 24.0,
        lambda errors, w: mean(errors) + 0.3 * tf.nn.l2_loss(errors) / 4.0,
        lambda errors, w: mean(errors) + tf.reduce_sum(errors) / (-24 * math.log(2.0)),  # bits of each number
        lambda errors, w: mean(errors) + tf.reduce_mean(tf.reduce_sum(tf.exp(errors), 1)),
        lambda errors, w: tf.reduce_sum(tf.exp(errors)) + 0.01 * tf.nn.l2_loss(errors),
        lambda errors, w: mean(errors) + tf.reduce_sum(tf.square(tf.reduce_mean(errors, 0))),
    ],
)
def test_divided_sums_and_those_of_weights_or_of_means_are_not(make_loss):
    assert sums_in(make_loss) == []


@pytest.mark.parametrize(
    "make_loss",
    [
        lambda errors, w: mean(errors) + tf.reduce_sum(tf.exp(errors)),
        lambda errors, w: mean(errors) + 1e-7 * mean_of_one(tf.reduce_sum(tf.square(errors))),
    ],
)
def test_a_sum_over_a_batch_of_any_size_beside_a_mean_is_named(make_loss):
    assert sums_in(make_loss, batch=None) == ["SUM_BESIDE_MEAN"]


@pytest.mark.parametrize(
    "make_loss",
    [
        lambda errors, w: mean(errors) + tf.reduce_sum(tf.exp(errors)) / 64.0,
        lambda errors, w: mean(errors) + 0.5 * tf.reduce_sum(tf.exp(errors)) / 64.0,
        lambda errors, w: mean(errors) + tf.reduce_sum(tf.exp(errors)) / (3 * 60000.0),
        lambda errors, w: mean(errors) + 0.01 * tf.nn.l2_loss(errors),  # it may be one over the size of the batch
        lambda errors, w: mean(errors) + tf.reduce_sum(tf.exp(errors)) / tf.cast(tf.shape(errors)[0], tf.float32),
        lambda errors, w: mean(errors) + tf.reduce_mean(tf.reduce_sum(tf.exp(errors), 1)),
        lambda errors, w: mean(errors) + tf.reduce_sum(tf.square(tf.reduce_mean(errors, 0))),
        lambda errors, w: mean(errors) + 1e-7 * tf.nn.l2_loss(w),
    ],
)
def test_of_a_batch_of_any_size_a_sum_that_may_be_divided_by_its_number_is_not(make_loss):
    assert sums_in(make_loss, batch=None) == []


@pytest.mark.parametrize("is_in_loss, count", [(False, 0), (True, 1)])
def test_the_logits_of_a_draw_may_be_infinite(is_in_loss, count):
    """A class of probability 0 is not drawn, and no gradient passes its logarithm."""

    def total():
        probability = tf.nn.softmax(minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3))
        logarithm = tf.math.log(probability)
        drawn = tf.one_hot(tf.random.categorical(logarithm, 1)[:, 0], 3)
        likelihood = logarithm if is_in_loss else tf.math.log(probability + 1e-8)
        return -tf.reduce_mean(tf.reduce_sum(tf.stop_gradient(drawn) * likelihood, 1))

    assert minimized.found(logarithms_of_probabilities, total) == ["LOG_OF_PROBABILITY"] * count


@pytest.mark.parametrize(
    "argument, count",
    [
        (lambda share: share, 1),
        (lambda share: share + 1e-8, 0),
        (lambda share: 1.0 - share, 1),
        (lambda share: 1.0 - share + 1e-8, 0),
        (lambda share: 1.0 - (share + 1e-8), 1),
        (lambda share: 1.0 - (share - 1e-8), 0),
        (lambda share: 1.0 - (share * 0.9 + 1e-8), 0),
    ],
)
def test_what_guards_the_logarithm_of_a_probability_does_not_guard_that_of_1_less_it(argument, count):
    """As of one class of a softmax, which is sliced before or behind the sum."""

    def total(is_late):
        shares = tf.nn.softmax(minimized.fed("x", 8, 4) @ minimized.variable("w", 4, 3))
        taken = argument(shares)[:, 0] if is_late else argument(shares[:, 0])
        return -tf.reduce_mean(tf.math.log(taken) * minimized.fed("mask", 8))

    for place in (False, True):
        found = minimized.found(logarithms_of_probabilities, functools.partial(total, is_late=place))
        assert found == ["LOG_OF_PROBABILITY"] * count


@pytest.mark.parametrize("is_scale, count", [(True, 0), (False, 1)])
def test_a_scale_of_results_is_no_probability(is_scale, count):
    """As of a coupling layer of a flow, whose volume is the sum of the logarithms of its scales."""

    def total():
        x = minimized.fed("x", 8, 4)
        scale = tf.sigmoid(x @ minimized.variable("w", 4, 3))
        taken = scale if is_scale else tf.tanh(x @ minimized.variable("u", 4, 3))
        result = taken * (x @ minimized.variable("v", 4, 3))
        return tf.reduce_mean(tf.square(result)) - tf.reduce_mean(tf.math.log(scale))

    assert minimized.found(logarithms_of_probabilities, total) == ["LOG_OF_PROBABILITY"] * count


@pytest.mark.parametrize("by_layers, count", [(True, 0), (False, 1)])
def test_a_scale_of_a_later_layer_is_none_behind_the_volume_of_an_earlier_one(by_layers, count):
    """As of a flow that keeps results and volume side by side; an entropy has the logarithm of its own probability."""

    def total():
        x, volume = minimized.fed("x", 8, 4) * 1.0, tf.zeros([8, 1])
        for layer in range(2):
            scale = tf.sigmoid(x @ minimized.variable(f"w{layer}", 4, 4))
            logarithm = tf.math.log(scale)
            x = scale * (x @ minimized.variable(f"v{layer}", 4, 4) if by_layers else logarithm)
            joined = tf.concat([x, volume + tf.reduce_sum(logarithm, 1, keepdims=True)], 1)
            x, volume = joined[:, :4], joined[:, 4:]
        return tf.reduce_mean(tf.square(x)) - tf.reduce_mean(volume)

    assert minimized.found(logarithms_of_probabilities, total) == ["LOG_OF_PROBABILITY"] * count
