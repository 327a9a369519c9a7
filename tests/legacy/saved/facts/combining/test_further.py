"""Combining of gradients behind velocities, in one vector and with weights, as the page says it."""

import types

import pytest
import tensorflow as tf

from legacy.saved.facts.combining.further import further_combines
from legacy.saved.facts.combining.loss_factors import are_divided_by_the_whole_batch, of_all_examples
from tests.legacy.saved.facts.tower_pages import (
    analysed_step,
    descend,
    mean,
    only,
    parts,
    program,
    sections_of,
    squares,
    variable,
    watched,
)

v1 = tf.compat.v1


def page(update=descend, combine=mean, towers_loss=lambda tower, loss: loss):
    """The page of two towers with the loss of `squares` of a layer, and a bias."""

    def build():
        x = parts("x", 4, 3)

        def loss(tower):
            value = squares(x(tower)) + tf.reduce_sum(tf.square(variable("b", 2) - tf.reduce_mean(x(tower))))
            return towers_loss(tower, value)

        program(loss, update, combine)()

    return sections_of(build)


def combined(**case):
    row = only(page(**case)["combining"])
    return row["gradients"], row["are"]


def rates(**case):
    return [(row["is"], row["values"]) for row in page(**case)["learning rates"]]


def velocity(weight):
    return v1.get_variable(weight.op.name + "_velocity", weight.shape, trainable=False, use_resource=False)


def at_once(pairs):
    """The velocity's new value is added."""
    changes = []
    for g, w in pairs:
        kept = velocity(w)
        changes.append(v1.assign_add(w, v1.assign(kept, 0.9 * kept - 0.1 * g)))
    tf.group(*changes, name="train")


def one_after_the_other(rate=0.1, subtract=False):
    """The velocity is read behind its assignment."""

    def update(pairs):
        kept = [velocity(w) for _, w in pairs]
        new = [0.9 * v + rate * g if subtract else 0.9 * v - rate * g for v, (g, _) in zip(kept, pairs)]
        with tf.control_dependencies([v1.assign(v, value) for v, value in zip(kept, new)]):
            change = v1.assign_sub if subtract else v1.assign_add
            tf.group(*[change(w, tf.identity(v)) for v, (_, w) in zip(kept, pairs)], name="train")

    return update


def looking_ahead(pairs):
    """Nesterov's momentum by hand."""
    changes = []
    for g, w in pairs:
        kept = velocity(w)
        new = v1.assign(kept, 0.9 * kept - 0.1 * g)
        changes.append(v1.assign_add(w, 0.9 * new - 0.1 * g))
    tf.group(*changes, name="train")


def by_schedule(pairs):
    step = v1.get_variable("step", initializer=0, trainable=False, use_resource=False)
    rate = v1.train.piecewise_constant(step, [10], [0.5, 0.25])
    one_after_the_other(rate=rate)(pairs)


@pytest.mark.parametrize("update", [at_once, one_after_the_other(), one_after_the_other(subtract=True), looking_ahead])
def test_gradients_that_velocities_take_are_combined_by_a_mean_and_multiplied_by_the_rate(update):
    assert combined(update=update) == ("2", "mean")
    assert rates(update=update) == [("0.1, always", "-")]


def test_a_schedule_inside_of_a_velocity():
    ((_, values),) = rates(update=by_schedule)
    assert values == "by step: 0: 0.5, 11: 0.25"


def test_another_factor_than_the_rate_stays():
    def update(pairs):
        one_after_the_other()([(3.0 * g, w) for g, w in pairs])

    assert combined(update=update) == ("2", "mean, times 0.3")


def flat(cut):
    """All gradients of a tower are one vector, and parts of the mean are cut out of it."""

    def combine_all(pairs_of_towers):
        return tf.add_n([tf.concat([tf.reshape(g, [-1]) for g in row], 0) for row in pairs_of_towers]) / 2.0

    def build():
        x = parts("x", 4, 3)
        rows = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                bias = tf.reduce_sum(tf.square(variable("b", 2) - tf.reduce_mean(x(tower))))
                loss = squares(x(tower)) + bias
                trained = v1.trainable_variables()
                rows.append(tf.gradients(loss, trained))
        sizes = [one.shape.num_elements() for one in trained]
        vectors = cut(combine_all(rows), sizes)
        descend([(tf.reshape(v, w.shape), w) for v, w in zip(vectors, trained)])

    return build


def by_slices(vector, sizes):
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return [vector[start : start + size] for start, size in zip(starts, sizes)]


@pytest.mark.parametrize("cut", [tf.split, by_slices])
def test_parts_of_one_vector_of_all_gradients(cut):
    row = only(sections_of(flat(cut))["combining"])
    assert (row["gradients"], row["are"], sorted(row["of"].split(", "))) == ("2", "mean", ["b", "w"])


@pytest.mark.parametrize(
    "combine, text",
    [
        (lambda g: 2.0 * g[0] + g[1], "weighted sum: towers count 2, 1"),
        (lambda g: 0.75 * g[0] + 0.25 * g[1], "weighted mean: towers count 0.75, 0.25"),
        (lambda g: (g[0] + g[1] + g[1]) / 4.0, "weighted sum: towers count 0.25, 0.5"),
        (lambda g: g[0] * g[1], "kept as written"),
    ],
)
def test_gradients_of_unequal_weight(combine, text):
    sections = page(combine=combine)
    row = only(sections["combining"])
    assert (row["gradients"], row["are"]) == ("2", text)
    unknown = [one["what"] for one in sections["watch"] if "not recognised" in one["what"]]
    assert bool(unknown) == (text == "kept as written")


@pytest.mark.parametrize(
    "towers_loss, text",
    [
        (lambda tower, loss: loss, "sum"),
        (
            lambda tower, loss: tf.sqrt(loss) / 2.0 + tf.nn.l2_loss(variable("w", 3, 2)),
            "sum of losses whose terms of data count 1/2: a mean of those",
        ),
        (
            lambda tower, loss: loss * 0.5 + tf.nn.l2_loss(variable("w", 3, 2)),  # half of a square
            "sum of losses with a factor of 0.5 on what depends on data",
        ),
        (lambda tower, loss: loss / 8.0, "sum"),
    ],
)
def test_a_sum_of_divided_losses_is_a_mean(towers_loss, text):
    def build():
        x = parts("x", 4, 3)
        program(lambda tower: towers_loss(tower, squares(x(tower))), combine=tf.add_n)()

    assert only(sections_of(build)["combining"])["are"] == text


@pytest.mark.parametrize(
    "combine, is_said",
    [
        (tf.add_n, True),
        (lambda gradients: tf.add_n(gradients) / 128.0, True),
        (lambda gradients: tf.reduce_mean(tf.stack(gradients), 0) / 128.0, False),  # as of gradients in fixed point
    ],
)
def test_half_of_a_square_is_said_to_make_a_mean_of_sums_alone(combine, is_said):
    def build():
        x = parts("x", 4, 3)
        program(lambda tower: 0.5 * squares(x(tower)), combine=combine)()

    said = [row["what"] for row in sections_of(build)["watch"] if "the sum over towers is a mean" in row["what"]]
    assert bool(said) == is_said


def test_sums_over_examples_that_are_divided_by_the_number_of_all():
    def build():
        x = parts("x", 6, 3)
        total = lambda tower: tf.reduce_sum(tf.square(tf.matmul(x(tower), variable("w", 3, 2)))) / 6.0  # noqa: E731
        program(total, combine=tf.add_n)()

    text = "sum of losses that are divided by the 6 examples of all towers: a mean"
    assert only(sections_of(build)["combining"])["are"] == text


@pytest.mark.parametrize(
    "reduce, size, is_mean",
    [
        (tf.reduce_sum, lambda whole, part: tf.shape(whole)[0], True),
        (tf.nn.l2_loss, lambda whole, part: tf.shape(whole, out_type=tf.int64)[0], True),
        (tf.reduce_sum, lambda whole, part: tf.shape(part)[0], False),  # the tower's own mean
        (tf.reduce_mean, lambda whole, part: tf.shape(whole)[0], False),  # divided twice
        (tf.reduce_sum, lambda whole, part: tf.shape(whole)[1], False),
        (tf.reduce_sum, lambda whole, part: tf.reduce_sum(tf.cast(whole > 0.5, tf.int32)), False),
    ],
)
def test_sums_over_examples_that_are_divided_by_the_size_of_the_whole_batch(reduce, size, is_mean):
    def build():
        whole = v1.placeholder(tf.float32, [None, 3], "x")
        rows = tf.split(whole, 2)

        def loss(tower):
            losses = tf.square(tf.matmul(rows[tower], variable("w", 3, 2)))
            return reduce(losses) / tf.cast(size(whole, rows[tower]), tf.float32)

        program(loss, combine=tf.add_n)()

    text, sections = "of losses that are divided by the number of all towers' examples: a mean", sections_of(build)
    assert only(sections["combining"])["are"] == (f"sum {text}" if is_mean else "sum")
    assert (f"train: gradients are summed over towers, {text}" in watched(sections)) == is_mean
    assert are_divided_by_the_whole_batch(*analysed_with_phase(build)) == is_mean


def analysed_with_phase(build):
    """The analysed step of a program, and its train op."""
    step = analysed_step(build)
    return step, only(step.plan.phases)


@pytest.mark.parametrize(
    "factors, batch, text",
    [
        ([0.125, 0.125], 4, ", of losses that are divided by the 8 examples of all towers"),
        ([0.25, 0.25], 4, ""),
        ([0.125, 0.25], 4, ""),
        ([1.0], 4, ""),
    ],
)
def test_a_divisor_that_is_the_number_of_all_examples(factors, batch, text):
    assert of_all_examples(types.SimpleNamespace(plan=types.SimpleNamespace(towers=2, batch=batch)), factors) == text


def test_a_step_without_updates_has_no_further_combining():
    phase = types.SimpleNamespace(combine=[], effects=[])
    assert list(further_combines(types.SimpleNamespace(), phase)) == []


@pytest.mark.parametrize("optimizer", [v1.train.GradientDescentOptimizer, v1.train.AdagradOptimizer])
@pytest.mark.parametrize("divisor, text", [(2.0, "concat, scaled by 0.5: a mean"), (1.0, "concat")])
def test_rows_that_are_divided_behind_the_sum_of_equal_ones(optimizer, divisor, text):
    def build():
        ids, slices = parts("ids", 8, dtype=tf.int32), []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                table = variable("table", 5, 3)
                loss = tf.reduce_mean(tf.square(tf.nn.embedding_lookup(table, ids(tower))))
                slices.append(tf.gradients(loss, [table])[0])
        rows, places = tf.unique(tf.concat([one.indices for one in slices], 0))
        total = tf.math.unsorted_segment_sum(tf.concat([one.values for one in slices], 0), places, tf.size(rows))
        optimizer(0.1).apply_gradients([(tf.IndexedSlices(total / divisor, rows, [5, 3]), table)], name="train")

    rows = sections_of(build)["combining"]
    assert [row["are"] for row in rows if "table" in row["of"].split(", ")] == [text]
