"""Lines of the page that programs of unusual construction made false, and likes of these of which they are true."""

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.facts.whole_facts import whole_facts
from tests.legacy.saved.facts.tower_pages import (
    descend,
    hazards,
    program,
    sections_of,
    variable,
    watched,
)
from tests.legacy.saved.graphs import graph_of, saved

v1 = tf.compat.v1


def parts(name, *shape, dtype=tf.float32):
    """The towers' halves of a batch, each made when its tower asks for it."""
    batch = v1.placeholder(dtype, shape, name)
    return lambda tower: tf.split(batch, 2)[tower]


def squares(x):
    return tf.reduce_mean(tf.square(tf.matmul(x, variable("w", 3, 2))))


def test_a_weight_that_is_a_term_and_in_another_term_belongs_to_the_loss():
    """exp(-s) l + s, twice, as of two losses with trained deviations: s has no gradient op as a term."""

    def uncertain():
        x = parts("x", 8, 3)

        def loss(tower):
            s, t = variable("s"), variable("t")
            first, second = squares(x(tower)), tf.reduce_mean(tf.abs(tf.matmul(x(tower), variable("v", 3, 1))))
            return tf.add(tf.exp(-s) * first + s + tf.exp(-t) * second, t, name="total")

        return program(loss)()

    page = sections_of(uncertain)
    terms = [row["term"] for row in page["losses"]]
    assert terms[0] == "tower_0/total:0" and {"s", "t"} <= {term.partition("/")[0] for term in terms[1:]}
    assert "LOSS_WEIGHT_TRAINED" not in hazards(page)


def test_a_trained_weight_of_a_term_without_its_own_term_is_still_named():
    def unbounded():
        x = parts("x", 8, 3)
        return program(lambda tower: tf.exp(-variable("s")) * squares(x(tower)))()

    assert "LOSS_WEIGHT_TRAINED" in hazards(sections_of(unbounded))


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


def batch_text(page):
    return next(row["is"] for row in page["towers"] if row["what"] == "batch of one")


def of_frames(frames, labels, total):
    """Each tower's loss is that of `labels` clips, of some frames each; `total` makes it of the clips' errors."""

    def build():
        x, y = parts("frames", frames, 3), parts("labels", labels)

        def loss(tower):
            each = tf.reduce_mean(tf.reshape(tf.matmul(x(tower), variable("w", 3, 1)), [labels // 2, -1]), 1)
            return total(tf.abs(each - y(tower)))

        return program(loss)()

    return sections_of(build)


def test_inputs_of_several_rows_for_an_example_tell_no_number_of_examples():
    page = of_frames(12, 4, tf.reduce_mean)
    assert batch_text(page) == "rows: 6 of frames, 2 of labels"
    assert batch_text(of_frames(8, 8, tf.reduce_mean)) == "4"


def test_a_sum_over_as_many_examples_as_towers_is_not_divided_twice():
    assert "LOSS_DIVIDED_TWICE" not in hazards(of_frames(4, 4, lambda each: tf.reduce_sum(each) / 2.0))
    assert "LOSS_DIVIDED_TWICE" not in hazards(of_frames(12, 4, lambda each: tf.reduce_sum(each) / 2.0))
    assert "LOSS_DIVIDED_TWICE" in hazards(of_frames(8, 8, lambda each: tf.reduce_sum(each) / 2.0))
    assert "LOSS_DIVIDED_TWICE" in hazards(of_frames(4, 4, lambda each: tf.reduce_mean(each) / 2.0))


def test_a_sum_of_means_that_are_divided_by_the_towers_is_a_mean_where_towers_have_as_many_examples():
    """As slim's clones of two examples, of which the first has the penalty."""

    def clones(rows):
        def build():
            x = parts("x", rows, 3)

            def loss(tower):
                own = tf.reduce_mean(tf.abs(tf.matmul(x(tower), variable("w", 3, 1)))) / 2.0
                return own + 0.01 * tf.nn.l2_loss(variable("w", 3, 1)) if tower == 0 else own

            return program(loss, combine=tf.add_n)()

        return watched(sections_of(build))

    for rows in (4, 8):
        assert [text for text in clones(rows) if "counts 1/2: the sum of gradients is a mean" in text]


def test_targets_that_each_tower_splits_by_itself_are_used():
    """The images are split once, for all towers; the labels in each tower, which takes its own part."""

    def labelled(part_of):
        def build():
            halves = tf.split(v1.placeholder(tf.float32, [8, 3], "x"), 2)
            y = v1.placeholder(tf.float32, [8, 1], "y")

            def loss(tower):
                label = tf.split(y, 2)[part_of(tower)]
                return tf.reduce_mean(tf.abs(tf.matmul(halves[tower], variable("w", 3, 1)) - label))

            return program(loss)()

        return hazards(sections_of(build))

    assert "TARGET_UNUSED" not in labelled(lambda tower: tower)
    assert "TARGET_UNUSED" in labelled(lambda tower: 0)


def test_a_part_that_is_computed_again_is_no_further_loss():
    """As of `recompute_grad`: the gradient of the part begins with what the loss's gradient gives."""

    @tf.custom_gradient
    def part(x):
        result = tf.tanh(x)
        return result, lambda upstream: tf.gradients(tf.tanh(tf.identity(x)), [x], upstream)[0]

    def build():
        x = parts("x", 8, 3)

        def loss(tower):
            with v1.variable_scope("part"):
                own = tf.matmul(x(tower), variable("w", 3, 2))
            return tf.reduce_mean(tf.square(part(own)))

        return program(loss)()

    page = sections_of(build)
    assert [row["is"] for row in page["losses"]] == ["the loss of the first tower", "depends on data"]
    assert not [text for text in watched(page) if "further losses" in text]


def two_losses():
    x = parts("x", 8, 3)

    def loss(tower):
        return [squares(x(tower)), tf.reduce_mean(tf.abs(tf.matmul(x(tower), variable("w", 3, 2))))]

    return program(loss)()


def test_losses_that_are_differentiated_together_are_further_losses():
    assert [text for text in watched(sections_of(two_losses)) if "further losses" in text]


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
    assert rate_and_values(page)[0] == "the value of rate; the step does not change rate"


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

    assert computed(by_rate(lambda: 0.1, lambda: every_fifth(towards))) == ["outside the towers, under a condition"]
    assert computed(by_rate(lambda: 0.1, towards)) == ["once, outside the towers"]


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


def prepared(prepare, in_tower=lambda x: x):
    def build():
        batch = prepare(v1.placeholder(tf.float32, [8, 3], "x"))
        return program(lambda tower: squares(in_tower(tf.split(batch, 2)[tower])))()

    return [text for text in watched(sections_of(build)) if "a lift leaves them out" in text]


def test_what_is_computed_before_the_towers_is_not_at_their_start():
    (text,) = prepared(lambda x: x / 255.0 + v1.random_uniform([8, 3]))
    assert "ops outside of the towers compute from x:0 (AddV2, RandomUniform, RealDiv)" in text
    assert prepared(lambda x: x, lambda x: x / 255.0) == []  # is a part of the towers


def test_labels_that_a_tower_splits_twice_are_one_input():
    def build():
        x, y = parts("x", 8, 3), v1.placeholder(tf.float32, [8, 2], "y")

        def loss(tower):
            first, second = (tf.split(y, 2)[tower] for _ in range(2))
            made = tf.matmul(x(tower), variable("w", 3, 2))
            return tf.reduce_mean(tf.abs(made - first)) + tf.reduce_mean(tf.square(made - second))

        return program(loss)()

    assert [text for text in watched(sections_of(build)) if "is the same part of the data as y" in text]


def test_a_gradient_to_which_python_adds_zero_is_like_the_others():
    def build(factors):
        def make():
            x = parts("x", 8, 3)
            return program(lambda tower: factors[tower] * squares(x(tower)), combine=lambda row: sum(row) / 2.0)()

        return next(row["is"] for row in sections_of(make)["towers"] if row["what"] == "symmetry")

    assert build([2.0, 2.0]) == "equal, op by op"
    assert build([2.0, 3.0]) == "not equal"


def test_the_file_name_of_a_saver_is_no_input():
    graph = graph_of("""
        x = Placeholder()
        loss = Sum(x)
        save/filename = PlaceholderWithDefault()
        save/Const = PlaceholderWithDefault(save/filename)
        save/SaveV2 = SaveV2(save/Const)
        other = PlaceholderWithDefault()
        read = ReadFile(other)
    """)
    assert [row["name"] for row in whole_facts(saved(graph), WholeGraph(saved(graph)))["inputs"]] == ["x", "other"]


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


def test_gradients_that_are_multiplied_by_a_rate_behind_their_mean():
    """As of a rate that a program multiplies by itself, beside gradient descent with a rate of 1."""

    def of_factors(change):
        page = trained_by(lambda pairs: descend([(change(gradient), weight) for gradient, weight in pairs]))
        return [text for text in watched(page) if "before the update takes" in text]

    (text,) = of_factors(lambda gradient: gradient * variable("rate", trainable=False))
    assert text == "train: 1 combined gradient is multiplied or divided by rate/read:0 before the update takes it: w"
    assert of_factors(lambda gradient: 0.5 * gradient) == []  # the mean, times 0.5
    assert of_factors(lambda gradient: tf.clip_by_norm(gradient, 1.0)) == []


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
                lambda: 0.1 * 0.9 ** tf.cast(tf.math.floordiv(steps(), 2), tf.float32),
                lambda: [v1.assign_add(steps(), 1) for _ in range(counts)],
            )
        )

    assert "SCHEDULE_COUNTS_TOWERS" not in halved(2)
    assert "SCHEDULE_COUNTS_TOWERS" in halved(1)


def test_a_part_of_the_batch_along_the_time_is_no_towers_own_input():
    """Features with the time first are dealt along their second dimension, and labels along the first."""

    def build():
        features, y = v1.placeholder(tf.float32, [6, 8, 3], "features"), parts("y", 8)

        def loss(tower):
            x = tf.split(features, 2, axis=1)[tower]
            made = tf.reduce_mean(tf.tensordot(x, variable("w", 3, 1), 1), [0, 2])
            return tf.reduce_mean(tf.abs(made - y(tower)))

        return program(loss)()

    assert {row["kind"] for row in sections_of(build)["inputs"]} == {"batch", "each tower's part"}


def test_examples_that_are_dealt_along_the_time_are_counted_there():
    def counted(axis):
        def build():
            features = v1.placeholder(tf.float32, [6, 8, 3], "features")

            def loss(tower):
                return tf.reduce_mean(tf.abs(tf.tensordot(tf.split(features, 2, axis)[tower], variable("w", 3, 1), 1)))

            def update(pairs):
                step = v1.get_variable(
                    "global_step",
                    dtype=tf.int64,
                    initializer=tf.zeros([], tf.int64),
                    trainable=False,
                    use_resource=False,
                )
                rate = 0.1 * 0.9 ** tf.cast(step, tf.float32)
                v1.train.GradientDescentOptimizer(rate).apply_gradients(pairs, step, name="train")

            return program(loss, update)()

        return [text for text in watched(sections_of(build)) if "the schedule counts updates" in text]

    assert "each of 2 x 4 examples" in counted(1)[0]
    assert "each of 2 x 3 examples" in counted(0)[0]


def test_a_penalty_with_a_weight_in_a_variable_is_named_as_such():
    def penalty(weight):
        def build():
            x = parts("x", 8, 3)
            return program(lambda tower: squares(x(tower)) + weight() * tf.nn.l2_loss(variable("w", 3, 2)))()

        return [row["is"] for row in sections_of(build)["losses"]]

    held = penalty(lambda: variable("wd", trainable=False, value=0.01))
    assert held[2:] == ["depends on weights and on wd, and on no input"]
    assert penalty(lambda: 0.01)[2:] == ["depends on weights only: a regularizer"]


def test_a_term_that_is_divided_is_not_the_whole_loss():
    def divided(also):
        def build():
            x, w = parts("x", 8, 3), parts("weights", 8)

            def loss(tower):
                each = tf.reduce_mean(tf.square(tf.matmul(x(tower), variable("w", 3, 2))), 1)
                own = tf.reduce_sum(w(tower) * each) / tf.reduce_sum(w(tower))
                return own + also(x(tower)) if also else own

            return program(loss)()

        return [text for text in watched(sections_of(build)) if "a mean of means" in text]

    (text,) = divided(squares)
    assert "each tower divides a term of its loss by tower_0/" in text
    (text,) = divided(None)
    assert "each tower divides its loss by tower_0/" in text


def test_a_number_of_all_examples_is_no_setting():
    """A loss over the total weight of all towers' examples, beside one over a number that is fed."""

    def over(total):
        def build():
            x, weights = parts("x", 8, 3), v1.placeholder(tf.float32, [8], "weights")
            divisor = total(weights)

            def loss(tower):
                each = tf.reduce_mean(tf.square(tf.matmul(x(tower), variable("w", 3, 2))), 1)
                return tf.reduce_sum(tf.split(weights, 2)[tower] * each) / divisor

            return program(loss, combine=tf.add_n)()

        page = sections_of(build)
        return {row["name"]: row["kind"] for row in page["inputs"]}, watched(page)

    kinds, texts = over(lambda weights: tf.add(tf.reduce_sum(weights), 1e-6, name="total"))
    assert kinds["total"] == "of all examples"
    assert [text for text in texts if text.startswith("total is what ops outside of the towers compute from weights:0")]
    kinds, texts = over(lambda weights: tf.add(v1.placeholder(tf.float32, [], "fed"), 1e-6))
    assert "of all examples" not in kinds.values()


def test_a_rate_in_a_resource_variable_is_no_slot():
    def update(pairs):
        rate = v1.get_variable("rate", initializer=0.1, trainable=False, use_resource=True)
        with tf.control_dependencies([v1.train.GradientDescentOptimizer(rate).apply_gradients(pairs)]):
            rate.assign(rate * 0.99, name="set")
        v1.get_default_graph().get_operation_by_name("set")
        with tf.control_dependencies([v1.get_default_graph().get_operation_by_name("set")]):
            tf.no_op("train")

    assert role_of(trained_by(update), "rate") == "learning rate"
