"""Lines on rates and updates that programs of unusual construction made false, and likes of which they are true."""

import tensorflow as tf

from tests.legacy.saved.facts.tower_pages import (
    descend,
    hazards,
    parts,
    program,
    sections_of,
    squares,
    variable,
    watched,
)
from tests.legacy.source.conditional import with_old_cond

v1 = tf.compat.v1


def decayed(pairs, clips):
    """Gradient descent behind a decay by an assignment, as contrib's AdamW; `clips(gradient, variable)`."""
    decays = [v1.assign_sub(weight, 1e-4 * weight) for _, weight in pairs]
    with tf.control_dependencies(decays):
        descend([(clips(gradient, weight), weight) for gradient, weight in pairs])


def two_layers(update):
    def build():
        x = parts("x", 8, 3)

        def loss(tower):
            return tf.reduce_mean(
                tf.square(tf.matmul(tf.tanh(tf.matmul(x(tower), variable("w", 3, 2))), variable("v", 2, 1)))
            )

        return program(loss, update)()

    return sections_of(build)


def test_a_weight_that_decays_by_an_assignment_is_clipped_like_others():
    page = two_layers(lambda pairs: decayed(pairs, lambda gradient, _: tf.clip_by_norm(gradient, 1.0)))
    assert {row["clipped"] for row in page["combining"]} == {"after combining, by norm, at 1"}
    assert not [text for text in watched(page) if "clipping leaves out" in text]
    some = two_layers(
        lambda pairs: decayed(pairs, lambda g, weight: tf.clip_by_norm(g, 1.0) if weight.op.name == "w" else g)
    )
    assert [text for text in watched(some) if "clipping leaves out the gradient of v" in text]


def trained_by(update):
    def build():
        x = parts("x", 8, 3)
        return program(lambda tower: squares(x(tower)), update)()

    return sections_of(build)


def role_of(page, name):
    return next(row["role"] for row in page["variables"] if row["name"] == name)


def rate_and_values(page):
    (row,) = page["learning rates"]
    return row["is"], row["values"]


def by_rate(make_rate, then=lambda: []):
    """An update with the rate of `make_rate()`, and behind it the assignments of `then()`."""

    def update(pairs):
        optimizer = v1.train.GradientDescentOptimizer(make_rate())
        with tf.control_dependencies([optimizer.apply_gradients(pairs)]):
            tf.group(*then(), name="train")

    return trained_by(update)


def test_a_rate_that_the_step_changes_is_no_slot():
    page = by_rate(
        lambda: variable("rate", trainable=False, value=0.1),
        lambda: [v1.assign(variable("rate", trainable=False), variable("rate", trainable=False) * 0.99)],
    )
    assert role_of(page, "rate") == "learning rate"
    assert rate_and_values(page)[0] == "the value of rate; the step changes it"
    page = by_rate(lambda: variable("rate", trainable=False, value=0.1))
    assert role_of(page, "rate") == "learning rate"
    assert rate_and_values(page)[0] == "the value of rate; the step does not change rate (0.1 at first)"


def test_values_of_a_rate_are_by_step_only_where_each_step_counts_one():
    def counted(by):
        frames = lambda: variable("frames", trainable=False, value=0.0)  # noqa: E731
        return by_rate(lambda: tf.maximum(0.1 * (1 - frames() / 1000), 0.001), lambda: [v1.assign_add(frames(), by)])

    assert rate_and_values(counted(4.0))[1].startswith("by frames: 0: 0.1, 100: 0.09")
    assert rate_and_values(counted(1.0))[1].startswith("0: 0.1, 100: 0.09")


def every_fifth(make_ops):
    """Runs ops in every fifth step."""
    step = variable("step", trainable=False, value=0.0)
    is_due = tf.equal(tf.math.floormod(step, 5.0), 0.0)
    return [v1.cond(is_due, lambda: tf.group(*make_ops()), tf.no_op), v1.assign_add(step, 1.0)]


def test_updates_of_some_steps_are_not_said_to_run_in_each():
    def slow():
        return variable("slow", 3, 2, trainable=False)

    def towards():
        return [v1.assign_add(slow(), 0.5 * (variable("w", 3, 2) - slow()))]

    def computed(page):
        return [row["changed by"] for row in page["moving averages"]]

    assert computed(by_rate(lambda: 0.1, lambda: every_fifth(towards))) == ["once, for all towers, under a condition"]
    assert computed(by_rate(lambda: 0.1, towards)) == ["once, for all towers"]


def test_weights_that_are_set_or_updated_in_some_steps():
    def set_slow():
        return [v1.assign(variable("w", 3, 2), variable("slow", 3, 2, trainable=False))]

    page = by_rate(lambda: 0.1, lambda: every_fifth(set_slow))
    assert "train: 1 weight is set by Assign besides its update, under a condition: w" in watched(page)
    page = by_rate(lambda: 0.1, set_slow)
    assert "train: 1 weight is set by Assign besides its update: w" in watched(page)

    def where_finite(pairs):
        is_finite = tf.reduce_all(tf.math.is_finite(pairs[0][0]))
        updated = lambda: v1.train.AdamOptimizer(0.002).apply_gradients(pairs)  # noqa: E731
        tf.group(v1.cond(is_finite, updated, tf.no_op), name="train")

    page = trained_by(where_finite)
    assert "train: 1 weight is updated under a condition only: w" in watched(page)
    assert rate_and_values(page)[0] == "0.002, always"
    assert not [text for text in watched(trained_by(descend)) if "condition" in text]


@with_old_cond
def test_constants_that_a_branch_takes_from_outside_are_shown():
    def where_finite(pairs):
        ((gradient, weight),) = pairs
        with v1.variable_scope("", reuse=v1.AUTO_REUSE):
            slot = v1.get_variable("w/Momentum", [3, 2], trainable=False, use_resource=False)
        momentum = tf.constant(0.75)

        def update():
            return v1.raw_ops.ApplyMomentum(
                var=weight._ref(), accum=slot._ref(), lr=0.5, grad=gradient, momentum=momentum
            )

        updated = v1.cond(tf.reduce_all(tf.math.is_finite(gradient)), update, lambda: weight)
        tf.group(updated, name="train")

    (row,) = trained_by(where_finite)["optimizers"]
    assert row["constants"] == "lr=0.5, momentum=0.75"


def test_a_gradient_to_which_python_adds_zero_is_like_the_others():
    def build(factors):
        def make():
            x = parts("x", 8, 3)
            return program(lambda tower: factors[tower] * squares(x(tower)), combine=lambda row: sum(row) / 2.0)()

        return next(row["is"] for row in sections_of(make)["towers"] if row["what"] == "symmetry")

    assert build([2.0, 2.0]) == "equal, op by op"
    assert build([2.0, 3.0]) == "not equal"


def by_phase(name, otherwise):
    """Trains a head where a placeholder is fed, and `otherwise` where it is not."""

    def build():
        x = parts("x", 8, 3)
        is_first = v1.placeholder(tf.bool, [], name)

        def loss(tower):
            return tf.reduce_mean(
                tf.square(tf.matmul(tf.tanh(tf.matmul(x(tower), variable("body", 3, 2))), variable("head", 2, 1)))
            )

        def update(pairs):
            def head():
                return v1.train.GradientDescentOptimizer(0.1).apply_gradients(pairs[1:])

            def all_of_them():
                return v1.train.GradientDescentOptimizer(0.01).apply_gradients(pairs)

            tf.group(v1.cond(is_first, head, all_of_them if otherwise else tf.no_op), name="train")

        return program(loss, update)()

    return sections_of(build)


def settings_of(page):
    return next(row["is"] for row in page["program"] if row["what"] == "settings fixed")


def test_a_placeholder_that_chooses_an_optimizer_is_not_true_for_its_name():
    page = by_phase("pretrain", True)
    assert settings_of(page) == "pretrain=False" and role_of(page, "body") == "weight"
    assert [text for text in watched(page) if text.startswith("pretrain is taken as False")]
    assert "TRAINS_AS_IN_EVALUATION" not in hazards(page)
    assert settings_of(by_phase("is_training", False)) == "is_training=True"


def test_a_number_that_is_a_constant_unless_it_is_fed_is_a_fixed_setting():
    def settings(default):
        def build():
            x = parts("x", 8, 3)
            given = v1.placeholder_with_default(default(), [], "share")
            return program(lambda tower: squares(x(tower)) * given, descend)()

        return settings_of(sections_of(build))

    assert settings(lambda: tf.constant(0.05)) == "share=0.05"
    assert settings(lambda: v1.placeholder(tf.float32, [], "fed")) == "none"


def test_gradients_that_are_multiplied_by_a_rate_behind_their_mean():
    """As of a rate that a program multiplies by itself, beside gradient descent with a rate of 1."""

    def of_factors(change):
        page = trained_by(lambda pairs: descend([(change(gradient), weight) for gradient, weight in pairs]))
        return [text for text in watched(page) if "before the update takes" in text]

    (text,) = of_factors(lambda gradient: gradient * variable("rate", trainable=False))
    assert text == "train: 1 combined gradient is multiplied or divided by rate/read:0 before the update takes it: w"
    assert of_factors(lambda gradient: 0.5 * gradient * variable("rate", trainable=False)) == [text]
    assert of_factors(lambda gradient: 0.5 * gradient) == []  # the mean, times 0.5
    assert of_factors(lambda gradient: tf.clip_by_norm(gradient, 1.0)) == []
    (text,) = of_factors(lambda gradient: tf.clip_by_norm(gradient, 1.0) / 128.0)  # a loss scale behind the clipping
    assert text == "train: 1 combined gradient is multiplied or divided by 128 before the update takes it: w"
    assert of_factors(lambda gradient: tf.clip_by_norm(gradient, 1.0) * 1.0) == []
    assert of_factors(lambda gradient: gradient * (4.0 / tf.maximum(tf.norm(gradient), 4.0))) == []
    noise = lambda gradient: 0.001 * v1.random_normal(tf.shape(gradient))  # noqa: E731
    assert of_factors(lambda gradient: gradient + noise(gradient)) == []


def test_gradients_of_scalar_weights_that_are_multiplied_are_named_like_others():
    def of_factors(change):
        def build():
            x = parts("x", 8, 3)

            def loss(tower):
                scores = tf.matmul(x(tower), variable("w", 3, 2))
                return tf.reduce_mean(tf.square(variable("scale") * scores))

            program(loss, lambda pairs: descend([(change(gradient), weight) for gradient, weight in pairs]))()

        return [text for text in watched(sections_of(build)) if "before the update takes" in text]

    def bounded(gradient):
        return gradient * (4.0 / tf.maximum(tf.norm(gradient), 4.0))

    (text,) = of_factors(lambda gradient: tf.clip_by_norm(gradient, 1.0) * (1.0 if gradient.shape.rank else 0.01))
    assert text == "train: 1 combined gradient is multiplied or divided by 0.01 before the update takes it: scale"
    assert of_factors(lambda gradient: tf.clip_by_norm(gradient, 1.0)) == []
    assert of_factors(bounded) == []


def test_a_bound_of_a_rate_behind_moments_clips_no_gradient():
    """As of AdaBound by hand, whose rate for each element lies between bounds."""

    def bounded(clips_gradient):
        def update(pairs):
            ((gradient, weight),) = pairs
            gradient = tf.clip_by_value(gradient, -2.0, 2.0) if clips_gradient else gradient
            moment = v1.assign(variable("m", 3, 2, trainable=False), 0.9 * variable("m", 3, 2) + 0.1 * gradient**2)
            rate = tf.clip_by_value(0.001 / (tf.sqrt(moment) + 1e-8), 0.01, 0.1)
            v1.assign_sub(weight, rate * gradient, name="train")

        return trained_by(update)

    page = bounded(False)
    assert [row["clipped"] for row in page["combining"]] == ["no"]
    assert rate_and_values(page)[0] == "not known: the update is written by hand"
    assert [row["clipped"] for row in bounded(True)["combining"]] == ["after combining, by value, at -2 and 2"]


def test_a_schedule_of_epochs_is_shown_at_its_boundaries():
    def rate():
        epoch = tf.math.floordiv(variable("step", trainable=False, value=0.0), 20.0)
        return tf.where(epoch < 2.0, 0.1, tf.where(epoch < 4.0, 0.01, 0.001))

    page = by_rate(rate, lambda: [v1.assign_add(variable("step", trainable=False), 1.0)])
    assert rate_and_values(page)[1] == "0: 0.1, 40: 0.01, 80: 0.001"


def test_a_step_that_two_ops_count_and_the_schedule_halves_counts_no_towers():
    def steps():
        with v1.variable_scope("", reuse=v1.AUTO_REUSE):
            return v1.get_variable(
                "global_step", dtype=tf.int64, initializer=tf.zeros([], tf.int64), trainable=False, use_resource=False
            )

    def halved(counts):
        return hazards(
            by_rate(
                lambda: 0.1 * 0.9 ** (tf.cast(tf.math.floordiv(steps(), 2), tf.float32) / 10.0),
                lambda: [v1.assign_add(steps(), 1) for _ in range(counts)],
            )
        )

    assert "SCHEDULE_COUNTS_TOWERS" not in halved(2)
    assert "SCHEDULE_COUNTS_TOWERS" in halved(1)


def test_a_rate_in_a_resource_variable_is_no_slot():
    def update(pairs):
        rate = v1.get_variable("rate", initializer=0.1, trainable=False, use_resource=True)
        with tf.control_dependencies([v1.train.GradientDescentOptimizer(rate).apply_gradients(pairs)]):
            rate.assign(rate * 0.99, name="set")
        v1.get_default_graph().get_operation_by_name("set")
        with tf.control_dependencies([v1.get_default_graph().get_operation_by_name("set")]):
            tf.no_op("train")

    assert role_of(trained_by(update), "rate") == "learning rate"


def test_an_equal_rate_of_several_optimizers_has_the_tensor_of_each():
    def tensors(rates, *optimizers):
        def apply(pairs):
            makers = zip(pairs, rates, optimizers)
            tf.group(*[make(rate).apply_gradients([pair]) for pair, rate, make in makers], name="train")

        return {frozenset(row["tensor"].split(", ")) for row in two_layers(apply)["learning rates"]}

    ftrl, adagrad = v1.train.FtrlOptimizer, v1.train.AdagradOptimizer
    assert tensors((0.125, 0.125), ftrl, adagrad) == {frozenset({"Ftrl/learning_rate:0", "Adagrad/learning_rate:0"})}
    assert tensors((0.125, 0.125), ftrl, ftrl) == {frozenset({"Ftrl/learning_rate:0", "Ftrl_1/learning_rate:0"})}
    apart = {frozenset({"Ftrl/learning_rate:0"}), frozenset({"Adagrad/learning_rate:0"})}
    assert tensors((0.125, 0.25), ftrl, adagrad) == apart


def test_one_rate_of_several_weights_has_one_tensor():
    page = two_layers(lambda pairs: descend(pairs))
    assert [row["tensor"] for row in page["learning rates"]] == ["train/learning_rate:0"]
