"""How losses grow with the number of examples: as means, as sums, or in a way that is not known."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.reduction.growth import Growth
from tests.legacy.saved.graphs import traced
from workloads.lifted.graph import TensorId

v1 = tf.compat.v1


def _power(loss, batch=None):
    """The power of a loss of per-example losses, a mask of examples and a weight."""

    def build():
        losses = tf.square(v1.placeholder(tf.float32, [batch, 3], "x"))
        mask = v1.placeholder(tf.float32, [batch], "mask")
        weight = v1.get_variable("w", [3], use_resource=False)
        tf.identity(loss(losses, mask, weight), "loss")

    context = Context(traced(build))
    return Growth(context.graph, context.imported, context.data, batch).power(TensorId("loss", 0))


def choose(condition, one, other):
    return tf.where(condition, one(), other())


def of_counted(x, mask, condition, choice=tf.cond):
    """A sum that is divided by the number of examples that a mask keeps, under a condition of both."""
    total, count = tf.reduce_sum(x), tf.reduce_sum(mask)
    return choice(condition(total, count), lambda: total / count, lambda: total)


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, mask, w: tf.reduce_mean(x),
        lambda x, mask, w: tf.reduce_mean(tf.abs(tf.squeeze(x[:, :1]))),  # of an open rank
        lambda x, mask, w: tf.reduce_mean(tf.reduce_sum(x, 1)),
        lambda x, mask, w: tf.reduce_sum(tf.reduce_mean(x, 0)),
        lambda x, mask, w: tf.sqrt(tf.reduce_mean(x)),
        lambda x, mask, w: tf.reduce_sum(x) / tf.cast(tf.shape(x)[0], tf.float32),
        lambda x, mask, w: tf.reduce_sum(tf.reduce_sum(x, 1) * mask) / tf.reduce_sum(mask),
        lambda x, mask, w: tf.reduce_sum(x) / tf.maximum(tf.reduce_sum(mask), 1.0),
        lambda x, mask, w: v1.losses.compute_weighted_loss(x, mask[:, None]),
        lambda x, mask, w: v1.losses.compute_weighted_loss(x),
        lambda x, mask, w: 0.5 * tf.reduce_mean(x) + 1e-3 * tf.nn.l2_loss(w),
        lambda x, mask, w: tf.reduce_mean(x) * tf.exp(-w[0]) + w[0],
        lambda x, mask, w: tf.reduce_mean(tf.square(tf.reduce_mean(x, 0) - w)),
        # of each example's loss by weights that add up to 1
        lambda x, mask, w: tf.reduce_sum(tf.reduce_sum(x, 1) * tf.stop_gradient(mask / tf.reduce_sum(mask))),
        # of each unit's mean over the examples that a mask keeps
        lambda x, mask, w: tf.reduce_sum(tf.square(tf.reduce_sum(x * mask[:, None], 0) / tf.reduce_sum(mask) - w)),
        # of pairs of units, divided by the number of examples
        lambda x, mask, w: tf.reduce_sum(tf.square(tf.matmul(x, x, transpose_a=True) / tf.reduce_sum(mask))),
        # a sum where nothing counts
        lambda x, mask, w: of_counted(x, mask, lambda total, count: count > 0.0),
        lambda x, mask, w: of_counted(x, mask, lambda total, count: tf.not_equal(count, 0.0), choose),
        # of what a loop computes for each example
        lambda x, mask, w: tf.reduce_mean(tf.map_fn(tf.reduce_sum, x)),
    ],
)
def test_a_mean_stays(loss):
    assert _power(loss) == 0


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, mask, w: tf.reduce_sum(x),
        lambda x, mask, w: tf.reduce_sum(tf.squeeze(x[:, :1])),
        lambda x, mask, w: tf.nn.l2_loss(x) / 3.0,
        lambda x, mask, w: tf.reduce_sum(tf.reduce_mean(x, 1)),
        lambda x, mask, w: tf.reduce_mean(tf.reduce_sum(x, 0)),
        lambda x, mask, w: tf.reduce_sum(tf.reduce_sum(x, 0) * tf.reduce_mean(x, 0)),
        lambda x, mask, w: tf.reduce_sum(x * mask[:, None] / tf.reduce_mean(mask)),
        lambda x, mask, w: tf.reduce_sum(x) + tf.nn.l2_loss(w),
        lambda x, mask, w: tf.reduce_sum(tf.transpose(w[:, None]) @ tf.transpose(x)),  # examples as columns
        lambda x, mask, w: tf.reduce_sum(tf.map_fn(tf.reduce_sum, x)),
    ],
)
def test_a_sum_grows(loss):
    assert _power(loss) == 1


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, mask, w: tf.reduce_mean(x) + tf.nn.l2_loss(x),  # a mean beside a sum
        lambda x, mask, w: tf.sqrt(tf.reduce_sum(x)),
        lambda x, mask, w: tf.reduce_mean(x, 1),  # one loss for each example
        lambda x, mask, w: tf.reduce_sum(tf.square(tf.matmul(x, x, transpose_a=True))),  # of pairs of units
        lambda x, mask, w: tf.reduce_sum(tf.transpose(x) @ x),
        lambda x, mask, w: tf.reduce_sum(tf.square(tf.transpose(x) @ x / 3.0)),  # divided by another number
        lambda x, mask, w: of_counted(x, mask, lambda total, count: total > 0.0),  # a choice between mean and sum
        lambda x, mask, w: tf.reduce_sum(tf.map_fn(tf.reduce_mean, tf.transpose(x))),  # of units, one by one
    ],
)
def test_what_is_neither_is_not_known(loss):
    assert _power(loss) is None


@pytest.mark.parametrize("divisor, power", [(4.0, 0), (12.0, 0), (2.0, 1)])
def test_a_constant_divisor_is_the_number_of_examples_or_of_their_elements(divisor, power):
    assert _power(lambda x, mask, w: tf.reduce_sum(x) / divisor, batch=4) == power
    assert _power(lambda x, mask, w: tf.reduce_sum(x) * (1.0 / divisor), batch=4) == power


@pytest.mark.parametrize("divisor, power", [(4.0, 0), (12.0, 0), (3.0, 1)])
@pytest.mark.parametrize("part", [lambda x: tf.split(x, 2)[1], lambda x: x[4:]])
def test_a_constant_divisor_is_the_number_of_the_examples_of_a_part(part, divisor, power):
    """One tower's part may alone be trained on."""
    assert _power(lambda x, mask, w: tf.reduce_sum(part(x)) / divisor, batch=8) == power
    assert _power(lambda x, mask, w: tf.reduce_sum(part(x)) * (1.0 / divisor), batch=8) == power
    assert _power(lambda x, mask, w: v1.losses.compute_weighted_loss(part(x)), batch=8) == 0


@pytest.mark.parametrize("batch, power", [(4, 0), (8, 1)])
def test_a_constant_divisor_is_not_the_number_of_times(batch, power):
    """Examples are the second dimension of what is divided by as many as there are times."""
    assert _power(lambda x, mask, w: tf.reduce_sum(tf.tile(tf.transpose(x[:, :1]), [4, 1])) / 4.0, batch) == power


@pytest.mark.parametrize("divisor, power", [(4.0, 0), (3.0, 0), (2.0, None)])
def test_a_covariance_is_divided_by_the_number_of_examples_or_one_less(divisor, power):
    assert _power(lambda x, mask, w: tf.nn.l2_loss(tf.matmul(x, x, transpose_a=True) / divisor), batch=4) == power


@pytest.mark.parametrize("loss, power", [(tf.reduce_mean, 0), (tf.reduce_sum, 1)])
def test_a_loop_over_a_fixed_number_of_examples(loss, power):
    assert _power(lambda x, mask, w: loss(tf.map_fn(tf.reduce_sum, x)), batch=4) == power
    assert _power(lambda x, mask, w: loss(tf.map_fn(tf.reduce_sum, tf.transpose(x))), batch=4) is None


@pytest.mark.parametrize("entry, power", [(0, 0), (1, 1), (-2, 1)])
def test_the_first_entry_of_a_static_shape_is_the_number_of_examples(entry, power):
    """Another one of the same size is not, such as a number of classes."""

    def loss(x, mask, w):
        scores = tf.concat([x, x[:, :1]], 1)
        return tf.reduce_sum(scores) / tf.cast(v1.shape(scores)[entry], tf.float32)

    assert _power(loss, batch=4) == power


def test_a_count_of_a_fixed_number_of_examples_is_a_divisor():
    assert _power(lambda x, mask, w: v1.losses.compute_weighted_loss(x), batch=4) == 0


def test_a_python_loop_over_the_examples_is_divided_by_their_number():
    """What the loop computes for one example may be anything; a factor of 0.5 in it is no number of examples."""

    def objects(x):
        return tf.while_loop(lambda i, _: i < 3, lambda i, total: (i + 1, total + x[i] * 0.5), (0, 0.0))[1]

    def loss(x, mask, w):
        return sum(tf.exp(objects(x[row])) for row in range(2)) / 2.0 + tf.nn.l2_loss(w)

    assert _power(loss, batch=2) == 0
    assert _power(lambda x, mask, w: 2.0 * loss(x, mask, 0.0), batch=2) == 0
    assert _power(lambda x, mask, w: sum(tf.exp(objects(x[row])) for row in range(2)), batch=2) != 0


@pytest.mark.parametrize("axes, power", [([1, 2], 0), ([2], 0), ([0, 1, 2], 1), ([-1], 1)])
def test_a_sum_of_what_has_no_shape(axes, power):
    """As of a placeholder without a shape, whose examples are the first dimension."""

    def build():
        x = v1.placeholder(tf.float32, None, "x")
        tf.identity(tf.reduce_mean(tf.reduce_sum(tf.square(x), axes)), "loss")

    context = Context(traced(build))
    assert Growth(context.graph, context.imported, context.data, None).power(TensorId("loss", 0)) == power


def test_a_long_sum_of_penalties_is_no_deep_recursion():
    def loss(x, mask, w):
        total = tf.reduce_mean(x)
        for _ in range(1500):
            total += w[0]
        return total

    assert _power(loss) == 0
