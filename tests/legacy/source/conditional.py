"""Programs that change variables in branches of 1.x's `cond`: finite gradients, loss scales, sums of steps, turns."""

import functools

import tensorflow as tf

from tests.legacy.variants.programs import TOWERS, plain, split_batch, sum_of_squares, towers, weights

v1 = tf.compat.v1


def with_old_cond(build):
    """A function that builds its graph with the control flow of 1.x, as Switch and Merge."""

    @functools.wraps(build)
    def built(*arguments):
        was_v2 = v1.control_flow_v2_enabled()
        v1.disable_control_flow_v2()
        try:
            return build(*arguments)
        finally:
            if was_v2:
                v1.enable_control_flow_v2()

    return built


def mean_gradient(scale=1.0):
    """The mean of the towers' gradients of a loss that is multiplied by `scale`, and divided by it again."""
    xs = split_batch()
    found = towers(lambda i: tf.gradients(sum_of_squares(xs[i]) * scale, [weights()])[0] / scale)
    return tf.add_n(found) / TOWERS


def counter(name, start=0, dtype=tf.int32):
    return v1.get_variable(name, initializer=tf.constant(start, dtype), trainable=False, use_resource=False)


def momentum(gradient, rate=0.125):
    return v1.train.MomentumOptimizer(rate, 0.5).apply_gradients([(gradient, weights())])


def all_finite(gradient):
    return tf.reduce_all(v1.is_finite(gradient))


@with_old_cond
def applied_if_finite():
    """Gradients that overflow until the scale of the loss, which shrinks in every step, is small enough."""
    scale = plain("scale", [], 2.0**127)
    gradient = mean_gradient(scale * 4.0)
    train = v1.cond(all_finite(gradient), lambda: v1.group(momentum(gradient)), lambda: v1.no_op())
    with tf.control_dependencies([gradient]):
        return v1.group(train, v1.assign(scale, scale * 0.0625))


@with_old_cond
def rate_outside_of_the_branch():
    """Gradient descent in a branch, with all that its kernel takes from outside of it."""
    gradient, rate = mean_gradient(), tf.constant(0.25) * 1.0
    count = counter("count")
    optimizer = v1.train.GradientDescentOptimizer(rate)
    optimizer._prepare()
    optimizer._prepare = lambda: None
    runs = v1.assign_add(count, 1)
    return v1.cond(
        tf.equal(runs % 2, 0),
        lambda: v1.group(optimizer.apply_gradients([(gradient, weights())])),
        lambda: v1.no_op(),
    ).op


@with_old_cond
def applied_every_other_step():
    """Gradients that are added up, and applied by hand in a branch of every second step."""
    kept, moment, count = plain("kept", [3, 2]), plain("moment", [3, 2]), counter("micro")
    with tf.control_dependencies([v1.assign_add(kept, mean_gradient())]):
        runs = v1.assign_add(count, 1)

    def update():
        new = 0.5 * moment + 0.5 * kept.read_value() / 2.0
        with tf.control_dependencies([v1.assign(weights(), weights() - 0.25 * new), v1.assign(moment, new)]):
            return tf.group(v1.assign(kept, tf.zeros_like(kept)))

    with tf.control_dependencies([runs]):
        return v1.cond(tf.equal(runs % 2, 0), update, lambda: v1.no_op()).op


@with_old_cond
def adam_every_other_step():
    gradient, steps = mean_gradient(), counter("global_step", dtype=tf.int64)

    def update():
        return v1.group(v1.train.AdamOptimizer(0.125).apply_gradients([(gradient, weights())]))

    train = v1.cond(tf.equal(steps % 2, 1), update, lambda: v1.no_op())
    with tf.control_dependencies([train]):
        return v1.assign_add(steps, 1).op


@with_old_cond
def scaled_loss():
    """A loss scale that is doubled after every second finite step, and halved where gradients overflow."""
    scale, good = plain("scale", [], 2.0**125), counter("good")
    gradient = mean_gradient(scale * 8.0)

    def apply():
        with tf.control_dependencies([momentum(gradient)]):
            runs = v1.assign_add(good, 1)
        return v1.group(v1.cond(tf.equal(runs % 2, 0), lambda: v1.assign(scale, scale * 2.0), lambda: scale + 0.0))

    def skip():
        return v1.group(v1.assign(scale, scale * 0.5), v1.assign(good, 0))

    return v1.cond(all_finite(gradient), apply, skip).op


@with_old_cond
def decayed_in_the_branch():
    """Weight decay that a branch adds to the mean of the gradients, at a learning rate that its counter gives."""
    gradient, count = mean_gradient(), counter("count")

    def update():
        rate = 0.25 / tf.cast(count + 1, tf.float32)
        train = momentum(gradient + 0.25 * weights(), rate)
        with tf.control_dependencies([train]):
            return v1.group(v1.assign_add(count, 1))

    return v1.cond(all_finite(gradient), update, lambda: v1.no_op()).op


@with_old_cond
def average_every_other_step():
    """An average of the weights that every second step moves towards them, after their update."""
    steps, average = counter("global_step"), plain("net/w/average", [3, 2])
    train = momentum(mean_gradient())
    with tf.control_dependencies([train]):
        now = weights().read_value()
        moved = v1.cond(
            tf.equal(steps % 2, 0),
            lambda: v1.group(v1.assign_sub(average, (average - now) * 0.5)),
            lambda: v1.no_op(),
        )
    with tf.control_dependencies([moved]):
        return v1.assign_add(steps, 1).op


@with_old_cond
def warm_up_in_a_variable():
    """A learning rate that the first steps raise, before the update uses it."""
    steps, rate = counter("global_step"), plain("rate", [], 0.0625)
    gradient = mean_gradient()
    raised = v1.cond(steps < 2, lambda: v1.group(v1.assign(rate, rate * 2.0)), lambda: v1.no_op())
    with tf.control_dependencies([raised]):
        train = v1.assign_sub(weights(), rate.read_value() * gradient)
    with tf.control_dependencies([train]):
        return v1.assign_add(steps, 1).op


@with_old_cond
def rules_in_turn():
    """One rule in even steps, and another one in odd steps."""
    steps, moment, gradient = counter("global_step"), plain("moment", [3, 2]), mean_gradient()

    def by_hand():
        new = v1.assign(moment, 0.5 * moment + gradient)
        return v1.group(v1.assign_sub(weights(), 0.125 * new))

    train = v1.cond(tf.equal(steps % 2, 0), lambda: v1.group(momentum(gradient)), by_hand)
    with tf.control_dependencies([train]):
        return v1.assign_add(steps, 1).op


@with_old_cond
def finite_on_each_tower():
    """Each tower says whether its gradient is finite; a step is skipped where one is not."""
    xs, scale = split_batch(), plain("scale", [], 2.0**127)

    def results(tower):
        found = tf.gradients(sum_of_squares(xs[tower]) * scale * 4.0, [weights()])[0] / scale
        return found, all_finite(found)

    gradients, finite = zip(*towers(results))
    mean = tf.add_n(gradients) / TOWERS
    return v1.cond(
        tf.reduce_all(tf.stack(finite)),
        lambda: v1.group(momentum(mean)),
        lambda: v1.group(v1.assign(scale, scale * 0.25)),
    ).op


def two_weights():
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        make = v1.glorot_uniform_initializer(seed=1)
        return [v1.get_variable(n, s, initializer=make, use_resource=False) for n, s in (("a", [3, 4]), ("b", [4, 2]))]


def two_gradients(scale=1.0):
    """The means of the towers' gradients of a loss that is multiplied by `scale`, and divided by it again."""
    xs, (first, second) = split_batch(), two_weights()

    def scaled(tower):
        loss = tf.reduce_sum(tf.tanh(tf.matmul(tf.nn.relu(tf.matmul(xs[tower], first)), second)) ** 2)
        return [gradient / scale for gradient in tf.gradients(loss * scale, [first, second])]

    return [tf.add_n(list(pair)) / TOWERS for pair in zip(*towers(scaled))]


@with_old_cond
def clipped_if_the_norm_is_finite():
    """Gradients that are clipped by their global norm, and applied if that is finite."""
    scale = plain("scale", [], 2.0**125)
    clipped, norm = tf.clip_by_global_norm(two_gradients(scale * 8.0), 0.5)
    adam = v1.train.AdamOptimizer(0.125)
    return v1.cond(
        v1.is_finite(norm),
        lambda: v1.group(adam.apply_gradients(zip(clipped, two_weights()))),
        lambda: v1.group(v1.assign(scale, scale * 2.0**-20)),
    ).op


@with_old_cond
def averages_of_a_branch():
    """Averages of the weights in the branch of their update, and a mean outside of it."""
    steps, found, mean = counter("global_step"), two_gradients(), plain("mean", [])
    averages = v1.train.ExponentialMovingAverage(0.75)
    moved = v1.assign_sub(mean, 0.5 * (mean - tf.add_n([tf.reduce_sum(gradient) for gradient in found])))

    def apply():
        with tf.control_dependencies(
            [v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(zip(found, two_weights()))]
        ):
            return v1.group(averages.apply(two_weights()))

    train = v1.cond(tf.equal(steps % 2, 0), apply, lambda: v1.no_op())
    with tf.control_dependencies([train, moved]):
        return v1.assign_add(steps, 1).op


@with_old_cond
def flag_in_a_variable():
    """A truth value that decides, and that every step turns around."""
    flag = v1.get_variable("flag", initializer=True, trainable=False, use_resource=False)
    gradient = mean_gradient()
    train = v1.cond(flag, lambda: v1.group(momentum(gradient)), lambda: v1.no_op())
    with tf.control_dependencies([train]):
        return v1.assign(flag, tf.logical_not(flag)).op
