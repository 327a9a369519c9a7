"""Updates of programs of their time, written as standalone sources, which train with the bits of the lift."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.lifting import LiftOptions, lift_graph
from parity.comparison import stages
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, plain, setup_of, split_batch, towers
from tests.marks import slow_after

v1 = tf.compat.v1


def weight(name, shape):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)


def words():
    given = v1.placeholder(tf.int32, [TOWERS * BATCH], name="words")
    return [given[tower * BATCH : (tower + 1) * BATCH] for tower in range(TOWERS)]


def embedded(ids):
    rows = tf.nn.embedding_lookup(weight("emb", [5, 3]), ids)
    return tf.reduce_sum(tf.tanh(tf.matmul(rows, weight("w", [3, 2]))) ** 2)


def mean_gradients(losses):
    """[(mean of the towers' gradients, weight)]; of rows, all towers' rows."""
    variables = [weight("emb", [5, 3]), weight("w", [3, 2])]
    found = [tf.gradients(loss, variables) for loss in losses]
    rows = [own[0] for own in found]
    values, indices = tf.concat([r.values for r in rows], 0) / TOWERS, tf.concat([r.indices for r in rows], 0)
    mean = tf.add_n([own[1] for own in found]) / TOWERS
    return [(tf.IndexedSlices(values, indices, rows[0].dense_shape), variables[0]), (mean, variables[1])]


def rows_of_adam():
    ids = words()
    losses = towers(lambda tower: embedded(ids[tower]))
    return v1.train.AdamOptimizer(0.125).apply_gradients(mean_gradients(losses))


def rows_of_adam_in_a_scope():
    ids = words()
    gradients = mean_gradients(towers(lambda tower: embedded(ids[tower])))
    with v1.variable_scope("train"):
        return v1.train.AdamOptimizer(0.125).apply_gradients(gradients)


def rows_clipped_and_made_dense():
    ids, variables = words(), [weight("emb", [5, 3]), weight("w", [3, 2])]

    def clipped(tower):
        found = tf.gradients(embedded(ids[tower]), variables)
        return [tf.convert_to_tensor(tf.clip_by_value(one, -0.125, 0.125)) for one in found]

    of_towers = towers(clipped)
    mean = [tf.add_n(pair) / TOWERS for pair in zip(*of_towers)]
    return v1.train.GradientDescentOptimizer(0.5).apply_gradients(zip(mean, variables))


def counted_in_floats():
    """A step counter of float32, as an initializer of constants makes it, and a schedule that has no name."""
    xs, step, w = split_batch(), plain("examples/batch", [], 4.0), weight("w", [3, 2])
    rate = tf.maximum(v1.train.exponential_decay(0.25, step, 3, 0.5), 0.125)
    loss = tf.add_n(towers(lambda tower: tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w)) ** 2))) / TOWERS
    return v1.train.MomentumOptimizer(rate, 0.5).minimize(loss, step, [w])


@pytest.mark.parametrize("style", ["workload", "standalone"])
def test_a_schedule_of_a_counter_of_floats_computes_in_floats(style, tmp_path):
    setup = lifted(counted_in_floats, tmp_path)
    source = source_of(setup, style)
    assert "tf.cast(step, tf.float32) / 3.0" in source.text
    (assert_workload_verified if style == "workload" else assert_trains_alike)(setup, tmp_path, source)


def averaged_by_a_counter_of_floats():
    """As the CIFAR-10 trainer: the average's decay counts with a float32 variable, unordered with the update."""
    xs, step, w = split_batch(), plain("global_step", [], 0.0), weight("w", [3, 2])
    gradients = towers(lambda tower: tf.gradients(tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w)) ** 2), [w])[0])
    train = v1.train.GradientDescentOptimizer(0.125).apply_gradients([(tf.add_n(gradients) / TOWERS, w)], step)
    return v1.group(train, v1.train.ExponentialMovingAverage(0.99, step).apply([w]))


@pytest.mark.parametrize("style, average", [("workload", "MovingAverage(0.99)"), ("standalone", "tf.constant(0.99)")])
def test_an_average_with_a_counter_of_floats_is_a_named_field(style, average, tmp_path):
    setup = lifted(averaged_by_a_counter_of_floats, tmp_path)
    source = source_of(setup, style)
    assert average in source.text
    assert ("self.variables[STEP] = tf.Variable(0, dtype=tf.float32" in source.text) == (style == "standalone")
    (assert_workload_verified if style == "workload" else assert_trains_alike)(setup, tmp_path, source)


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64])
def test_a_standalone_program_goes_on_counting_in_the_variable_of_its_checkpoint(dtype, tmp_path):
    def counting():
        xs, w = split_batch(), weight("w", [3, 2])
        step = v1.get_variable("batch", [], dtype, v1.constant_initializer(4), trainable=False, use_resource=False)
        loss = tf.add_n(towers(lambda tower: tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w)) ** 2))) / TOWERS
        rate = v1.train.exponential_decay(0.25, step, 3, 0.5, staircase=True)
        return v1.train.GradientDescentOptimizer(rate).minimize(loss, step, [w])

    assert_trains_alike(lifted(counting, tmp_path), tmp_path)


def averaged_in_a_scope(scope):
    """Adam and a moving average that are made inside of a variable scope, and named after it and the weight."""

    def build():
        xs, step, w = split_batch(), v1.train.get_or_create_global_step(), weight("w", [3, 2])
        loss = tf.add_n(towers(lambda tower: tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w)) ** 2))) / TOWERS
        with v1.variable_scope(scope or v1.get_variable_scope()):
            train = v1.train.AdamOptimizer(0.125).minimize(loss, step, [w])
            with tf.control_dependencies([train]):
                return v1.group(v1.train.ExponentialMovingAverage(0.5, name="mean").apply([w]))

    return build


@pytest.mark.parametrize("scope", ["train", "net", ""])
def test_slots_and_averages_have_the_names_of_the_old_checkpoint(scope, tmp_path):
    setup = lifted(averaged_in_a_scope(scope), tmp_path)
    text = source_of(setup).text
    before = f"{scope}/" if scope else ""
    assert 'SLOTS = {"Adam": 0.0, "Adam_1": 0.0}' in text and f'local[f"{before}{{name}}/{{slot}}"]' in text
    assert (f'local[f"{before}{{name}}/mean"]' if scope else 'local[name + "/mean"]') in text
    assert_trains_alike(setup, tmp_path, source_of(setup))


def rate_of_float64():
    """A schedule of NumPy's numbers, which the optimizer casts to float32 for each weight by itself."""
    xs, step, w, b = split_batch(), v1.train.get_or_create_global_step(), weight("w", [3, 2]), weight("b", [2])
    rate = v1.train.exponential_decay(tf.constant(0.25, tf.float64), step, 3, 0.5, staircase=True)
    loss = tf.add_n(towers(lambda tower: tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w) + b) ** 2))) / TOWERS
    return v1.train.AdamOptimizer(rate).minimize(loss, step, [w, b])


@pytest.mark.parametrize("style", ["workload", "standalone"])
def test_a_learning_rate_of_float64_is_one_schedule_of_all_weights(style, tmp_path):
    setup = lifted(rate_of_float64, tmp_path)
    source = source_of(setup, style)
    assert ("optimizers.Adam" in source.text) == (
        style == "workload"
    ) and "update as in the old graph" not in source.text
    (assert_workload_verified if style == "workload" else assert_trains_alike)(setup, tmp_path, source)


def rate_in_a_variable():
    xs, rate = split_batch(), plain("rate", [], 0.1)
    w = weight("w", [3, 2])
    gradients = towers(lambda tower: tf.gradients(tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w)) ** 2), [w])[0])
    return v1.train.MomentumOptimizer(rate, 0.5).apply_gradients([(tf.add_n(gradients) / TOWERS, w)])


def with_statistics(change):
    """A program whose first tower's mean is a moving one; `change(mean, its update, loss)` makes another update."""

    def build():
        xs, w, mean = split_batch(), weight("w", [3, 2]), plain("mean", [2])
        updates, losses = [], []

        def gradient(tower):
            hidden = tf.matmul(xs[tower], w)
            if tower == 0:
                updates.append(v1.assign_sub(mean, 0.25 * (mean - tf.reduce_mean(hidden, 0))))
            losses.append(tf.reduce_sum(tf.tanh(hidden) ** 2))
            return tf.gradients(losses[-1], [w])[0]

        gradients = towers(gradient)
        train = v1.train.GradientDescentOptimizer(0.25).apply_gradients([(tf.add_n(gradients) / TOWERS, w)])
        return v1.group(train, updates[0], change(mean, updates[0], losses[0]))

    return build


def average_of_a_statistic(mean, update, loss):
    average = plain("average", [2])
    with tf.control_dependencies([update]):
        return v1.assign_sub(average, 0.125 * (average - mean.read_value()))


def unbiased_average_of_the_loss(mean, update, loss):
    biased, count, average = plain("loss/biased", []), plain("loss/count", []), plain("loss", [])
    moved = v1.assign_sub(biased, 0.25 * (biased - loss))
    counted = v1.assign_add(count, 1.0)
    with tf.control_dependencies([moved, counted]):
        return v1.assign(average, biased.read_value() / (1.0 - 0.75 ** count.read_value()))


def divided_by_all_weights():
    """Sums of weighted losses, whose gradients are divided by the weights of all towers' examples."""
    xs, w = split_batch(), weight("w", [3, 2])
    shares = tf.split(v1.placeholder(tf.float32, [TOWERS * BATCH], name="share"), TOWERS)

    def gradient(tower):
        loss = tf.reduce_sum(tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w)) ** 2, 1) * shares[tower])
        return tf.gradients(loss, [w])[0], tf.reduce_sum(shares[tower])

    gradients, counts = zip(*towers(gradient))
    optimizer = v1.train.MomentumOptimizer(0.25, 0.5)
    return optimizer.apply_gradients([(tf.add_n(gradients) / (1.0 + tf.add_n(counts)), w)])


def matrices_clipped_alone():
    """The gradients of matrices alone are clipped by their global norm."""
    xs, variables = split_batch(), [weight("w", [3, 2]), weight("v", [2, 2]), weight("bias", [2])]

    def gradients(tower):
        hidden = tf.tanh(tf.matmul(xs[tower], variables[0]) + variables[2])
        return tf.gradients(tf.reduce_sum(tf.matmul(hidden, variables[1]) ** 2), variables)

    *matrices, bias = [tf.add_n(pair) / TOWERS for pair in zip(*towers(gradients))]
    clipped, _ = tf.clip_by_global_norm(matrices, 0.25)
    return v1.train.MomentumOptimizer(0.25, 0.5).apply_gradients(zip([*clipped, bias], variables))


def centers_moved_in_rows():
    xs, w, centers = split_batch(), weight("w", [3, 2]), plain("centers", [5, 2])
    labels = v1.placeholder(tf.int32, [TOWERS * BATCH], name="labels")
    moves = []

    def gradient(tower):
        own = tf.reshape(labels[tower * BATCH : (tower + 1) * BATCH], [-1])
        features, near = tf.tanh(tf.matmul(xs[tower], w)), tf.gather(centers, own)
        moves.append(v1.scatter_sub(centers, own, 0.125 * (near - features)).op)
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=own, logits=features)
        return tf.gradients(tf.reduce_sum(tf.square(features - near)) + tf.reduce_sum(entropy), [w])[0]

    mean = tf.add_n(towers(gradient)) / TOWERS
    return v1.group(v1.train.GradientDescentOptimizer(0.25).apply_gradients([(mean, w)]), *moves)


def centers_moved_by_fed_labels():
    """The update takes the towers' parts of what is fed, which they take too."""
    xs, w, centers = split_batch(), weight("w", [3, 2]), plain("centers", [5, 2])
    labels, moves = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH], name="labels"), TOWERS), []

    def gradient(tower):
        features = tf.tanh(tf.matmul(xs[tower], w))
        moves.append(v1.scatter_sub(centers, labels[tower], 0.125 * (tf.gather(centers, labels[tower]) - features)).op)
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[tower], logits=features)
        return tf.gradients(tf.reduce_sum(entropy), [w])[0]

    mean = tf.add_n(towers(gradient)) / TOWERS
    return v1.group(v1.train.GradientDescentOptimizer(0.25).apply_gradients([(mean, w)]), *moves)


def words_of_all_towers():
    """Sums over the towers' words that are not 0, divided by their number, with a penalty, clipped by their norm."""
    xs, ids, variables = split_batch(), words(), [weight("w", [3, 2]), weight("v", [2, 2])]

    def sums(tower):
        kept = tf.cast(tf.not_equal(ids[tower], 0), tf.float32)
        found = tf.reduce_sum(tf.tanh(tf.matmul(tf.matmul(xs[tower], variables[0]), variables[1])) ** 2, 1)
        return tf.reduce_sum(found * kept), tf.reduce_sum(kept)

    losses, counts = zip(*towers(sums))
    loss = tf.add_n(losses) / tf.maximum(1.0, tf.add_n(counts))
    penalty = tf.add_n([tf.nn.l2_loss(one) for one in variables]) * 0.125
    clipped, _ = tf.clip_by_global_norm(tf.gradients(loss + penalty, variables), 0.25)
    return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(zip(clipped, variables))


def mean_of_the_inputs():
    """A moving mean of what all towers are fed, beside the update of the weights."""
    xs, w, mean = split_batch(), weight("w", [3, 2]), plain("mean", [3])

    def results(tower):
        hidden = tf.tanh(tf.matmul(xs[tower] - mean, w))
        return tf.gradients(tf.reduce_sum(hidden**2), [w])[0], tf.reduce_mean(xs[tower], 0)

    gradients, means = zip(*towers(results))
    train = v1.train.GradientDescentOptimizer(0.25).apply_gradients([(tf.add_n(gradients) / TOWERS, w)])
    return v1.group(train, v1.assign(mean, 0.5 * mean + 0.5 * tf.add_n(means) / TOWERS))


def rows_of_one_tower():
    """A wide and deep model on one device: rows of one optimizer, which adds them up itself, beside another's."""
    ids, wide = v1.placeholder(tf.int32, [BATCH], name="words"), weight("wide", [5, 2])
    loss = embedded(ids) + tf.reduce_sum(tf.nn.embedding_lookup(wide, ids) ** 3)
    one = v1.train.FtrlOptimizer(0.125, l1_regularization_strength=0.0625).minimize(loss, var_list=[wide])
    return v1.group(
        one, v1.train.AdagradOptimizer(0.125).minimize(loss, var_list=[weight("emb", [5, 3]), weight("w", [3, 2])])
    )


def rows_made_dense_scaled_and_clipped():
    """The gradients of a scaled loss, divided again and clipped by their norm in each tower, for an update by hand."""
    ids, variables = words(), [weight("emb", [5, 3]), weight("w", [3, 2])]

    def clipped(tower):
        found = [tf.convert_to_tensor(one) / 8.0 for one in tf.gradients(embedded(ids[tower]) * 8.0, variables)]
        return tf.clip_by_global_norm(found, 0.25)[0]

    pairs = zip(*towers(clipped))
    return v1.group(*[v1.assign_sub(w, 0.5 * tf.add_n(list(pair)) / TOWERS) for w, pair in zip(variables, pairs)])


def rows_clipped_by_each_towers_norm():
    """Rows of an embedding with a row of zeros before it, and dense gradients, clipped by each tower's global norm."""
    ids, variables = words(), [weight("emb", [4, 3]), weight("w", [3, 2]), weight("v", [2, 2]), weight("bias", [2])]

    def clipped(tower):
        emb, w, v, bias = variables
        rows = tf.nn.embedding_lookup(tf.concat([tf.zeros([1, 3]), emb], 0), ids[tower])
        loss = tf.reduce_sum(tf.tanh(tf.matmul(tf.tanh(tf.matmul(rows, w)), v) + bias) ** 2)
        return tf.clip_by_global_norm(tf.gradients(loss, variables), 0.25)[0]

    dense = [[tf.convert_to_tensor(one) for one in clipped(tower)] for tower in range(TOWERS)]
    mean = [tf.reduce_mean(tf.stack(pair), 0) for pair in zip(*dense)]
    return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(zip(mean, variables))


def parts_of_a_gradient():
    """A weight whose gradient has four parts of other sizes, and a loss of three terms."""
    xs, w = split_batch(), weight("w", [3, 2])

    def gradient(tower):
        terms = [tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w) * size) ** 2) / size for size in (1.0, 0.3, 7.0)]
        return tf.gradients(tf.add_n(terms) + 0.01 * tf.nn.l2_loss(w), [w])[0]

    return v1.train.FtrlOptimizer(0.125).apply_gradients([(tf.add_n(towers(gradient)) / TOWERS, w)])


def averages_with_a_frozen_one():
    """Averages of a weight, and of one that is not trained."""
    xs, w, frozen = split_batch(), weight("w", [3, 2]), plain("frozen", [2], 2.0)
    loss = towers(lambda tower: tf.reduce_sum(tf.tanh(tf.matmul(xs[tower], w) * frozen) ** 2))
    mean = tf.add_n([tf.gradients(one, [w])[0] for one in loss]) / TOWERS
    train = v1.train.GradientDescentOptimizer(0.25).apply_gradients([(mean, w)])
    with tf.control_dependencies([train]):
        return v1.train.ExponentialMovingAverage(0.5).apply([w, frozen])


def masked_weight():
    """A weight of which a mask leaves a triangle of blocks."""
    xs, w, v = split_batch(), weight("w", [3, 12]), weight("v", [12, 24])
    mask = tf.constant(np.repeat(np.triu(np.ones((12, 12), np.float32), 1), 2, axis=1))

    def gradients(tower):
        hidden = tf.tanh(tf.matmul(xs[tower], w))
        return tf.gradients(tf.reduce_sum(tf.matmul(hidden, v * mask) ** 2), [w, v])

    mean = [tf.add_n(pair) / TOWERS for pair in zip(*towers(gradients))]
    return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(zip(mean, [w, v]))


#: {program: a line of its source}.
PROGRAMS = {
    averages_with_a_frozen_one: '"frozen/ExponentialMovingAverage"',
    masked_weight: "tf.repeat(tf.ones([12, 12]) - tf.linalg.band_part(",
    mean_of_the_inputs: "    part = context.all_reduce(tf.distribute.ReduceOp.MEAN, part)",
    rows_clipped_by_each_towers_norm: "tf.linalg.global_norm([gradients[name] for name in WEIGHTS])",
    rows_made_dense_scaled_and_clipped: "gradients[name] / 8.0",
    rows_of_one_tower: '    rows = ["net/wide", "net/emb"]',
    parts_of_a_gradient: "    return add_in_order([ratio, ratio2, ratio3]) + 0.01 * ",
    rows_of_adam: '    rows = ["net/emb"]',
    rows_of_adam_in_a_scope: 'SLOTS = [(WEIGHTS, {"train/{}/Adam": 0.0, "train/{}/Adam_1": 0.0})]',
    rows_clipped_and_made_dense: 'tf.clip_by_value(gradients["net/emb"].values, -0.125, 0.125)',
    rate_in_a_variable: 'lr=values["rate"]',
    with_statistics(average_of_a_statistic): 'variables["mean"].read_value()',
    with_statistics(unbiased_average_of_the_loss): '0.75 ** variables["loss/count"].read_value()',
    words_of_all_towers: "factor = 1.0 / tf.maximum(1.0, part)",
    divided_by_all_weights: "    part = context.all_reduce(tf.distribute.ReduceOp.SUM, part)",
    matrices_clipped_alone: '    combined["net/bias"] = gradients["net/bias"]\n',
    centers_moved_in_rows: "lambda now: tf.tensor_scatter_nd_sub(now, tf.expand_dims(labels, -1), ",
    centers_moved_by_fed_labels: "tf.tensor_scatter_nd_sub(\n            now, tf.expand_dims(labels, -1), ",
}


def test_an_average_of_a_variable_that_is_not_trained_is_the_reason_why_no_field_has_it(tmp_path):
    source = source_of(lifted(averages_with_a_frozen_one, tmp_path))
    (note,) = [note for note in source.notes if note.startswith("update as in the old graph")]
    assert "is of a variable that is not trained; a workload's are of weights" in note


#: Those that a workload's fields describe.
FIELDS = (masked_weight, rate_in_a_variable, centers_moved_in_rows, centers_moved_by_fed_labels)


@pytest.mark.parametrize("build", PROGRAMS)
def test_an_update_is_written_as_it_was_and_trains_alike(build, tmp_path):
    setup = lifted(build, tmp_path)
    source = source_of(setup)
    assert PROGRAMS[build] in source.text
    assert_trains_alike(setup, tmp_path, source)


@pytest.mark.parametrize("build", slow_after(3, [one for one in PROGRAMS if one not in FIELDS]))
def test_a_workload_has_the_same_train_op(build, tmp_path):
    setup = lifted(build, tmp_path)
    source = source_of(setup, "workload")
    assert "(StepWorkload):" in source.text and PROGRAMS[build] in source.text
    assert_port_verified(setup, tmp_path, source)


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_workload_with_its_own_step_runs_on_other_numbers_of_replicas(replicas, tmp_path):
    setup = lifted(with_statistics(average_of_a_statistic), tmp_path)
    assert_port_verified(setup, tmp_path, source_of(setup, "workload"), replicas)


@pytest.mark.parametrize("replicas", [1, 3])
def test_rows_of_all_towers_beside_averaged_gradients_are_for_any_number_of_replicas(replicas, tmp_path):
    setup = lifted(rows_of_adam, tmp_path)
    source = source_of(setup, "workload")
    assert "tf.concat([one.values for one in slices], axis=0) * (1.0 / len(slices))" in source.text
    assert "tf.distribute.ReduceOp.MEAN, [gradients[name] for name in dense]" in source.text
    assert_port_verified(setup, tmp_path, source, replicas)


def test_rows_that_each_tower_clips_and_makes_dense_are_for_any_number_of_replicas(tmp_path):
    setup = lifted(rows_clipped_and_made_dense, tmp_path)
    assert_port_verified(setup, tmp_path, source_of(setup, "workload"), replicas=1)


def halving(step):
    return 0.125 * 0.5 ** (tf.cast(step, tf.float32) / 4.0)


def rows_of_adam_by_a_schedule():
    """Rows and dense gradients of one optimizer: the rate is used before its slots change, and again behind them."""
    step, ids = v1.train.get_or_create_global_step(), words()
    variables = [weight("emb", [5, 3]), weight("w", [3, 2]), weight("v", [2, 2])]

    def gradients(tower):
        hidden = tf.tanh(tf.matmul(tf.nn.embedding_lookup(variables[0], ids[tower]), variables[1]))
        return tf.gradients(tf.reduce_sum(tf.matmul(hidden, variables[2]) ** 2), variables)

    (one, *dense), (two, *others) = towers(gradients)
    values, indices = tf.concat([one.values, two.values], 0) / TOWERS, tf.concat([one.indices, two.indices], 0)
    means = [tf.IndexedSlices(values, indices, one.dense_shape)] + [tf.add_n(p) / TOWERS for p in zip(dense, others)]
    return v1.train.AdamOptimizer(halving(step)).apply_gradients(zip(means, variables), step)


def rate_of_the_next_step():
    """Two weights, of which the second one is changed behind the counter, by the rate that follows from it then."""
    xs, w, v = split_batch(), weight("w", [3, 2]), weight("v", [2, 2])
    step = v1.get_variable("step", [], tf.int64, v1.zeros_initializer(), trainable=False, use_resource=True)
    losses = towers(lambda tower: tf.reduce_sum(tf.tanh(tf.matmul(tf.matmul(xs[tower], w), v)) ** 2))
    means = [tf.add_n(pair) / TOWERS for pair in zip(*(tf.gradients(loss, [w, v]) for loss in losses))]
    first = v1.assign_sub(w, halving(step.read_value()) * means[0])
    with tf.control_dependencies([first]):
        counted = v1.assign_add(step, 1)
    with tf.control_dependencies([counted]):
        return v1.assign_sub(v, halving(step.read_value()) * means[1]).op


@pytest.mark.parametrize("build, times", [(rows_of_adam_by_a_schedule, 1), (rate_of_the_next_step, 2)])
def test_what_several_changes_need_is_computed_once_unless_it_has_changed(build, times, tmp_path):
    setup = lifted(build, tmp_path)
    source = source_of(setup)
    assert source.text.count("0.5 ** (") == times
    assert_trains_alike(setup, tmp_path, source)


def accumulating():
    """The names of the train ops of a program that adds its gradients to variables for one run, and applies them."""
    ids, variables = words(), [weight("emb", [5, 3]), weight("w", [3, 2])]
    losses = towers(lambda tower: embedded(ids[tower]))
    sums = [plain("sum/" + variable.op.name, variable.shape) for variable in variables]
    zero = v1.group(*(v1.assign(one, tf.zeros_like(one)) for one in sums), name="zero")
    found = tf.gradients(tf.add_n(losses) / TOWERS, variables)
    collect = v1.group(v1.scatter_add(sums[0], found[0].indices, found[0].values), v1.assign_add(sums[1], found[1]))
    pairs = [(one.read_value(), variable) for one, variable in zip(sums, variables)]
    return [zero.name, collect.name, v1.train.AdamOptimizer(0.125).apply_gradients(pairs).name]


def test_gradients_that_a_run_accumulates_are_those_of_the_weights(tmp_path):
    path, out = str(tmp_path / "graph.meta"), str(tmp_path / "lifted")
    with tf.Graph().as_default() as graph:
        graph.seed = 1
        names = accumulating()
        v1.train.export_meta_graph(path)
    lift_graph(path, out, options=LiftOptions(names))
    setup = setup_of(out)
    source = source_of(setup)
    assert 'WEIGHTS = ["net/emb", "net/w"]' in source.text and source.text.count("_loss(scope, batch):") == 1
    assert 'variables["sum/net/w"].assign_add(tf.add_n(gradients["net/w"]))' in source.text
    assert_trains_alike(setup, tmp_path, source, steps=6)
    assert_port_verified(setup, tmp_path, source_of(setup, "workload"), steps=6)


def test_a_value_of_each_weight_that_a_norm_needs_is_in_a_dict(tmp_path):
    text = source_of(lifted(words_of_all_towers, tmp_path)).text
    assert "tf.linalg.global_norm([combined[name] for name in WEIGHTS])" in text
    assert "        gradient = combined[name] * scale" in text and text.count("ResourceApplyMomentum") == 1


def test_parts_of_a_gradient_are_added_in_order_where_there_are_three(tmp_path):
    text = source_of(lifted(parts_of_a_gradient, tmp_path)).text
    assert "\ntf.AggregationMethod.DEFAULT = tf.AggregationMethod.EXPERIMENTAL_TREE" in text
    (tmp_path / "other").mkdir()
    assert "AggregationMethod" not in source_of(lifted(mean_of_the_inputs, tmp_path / "other")).text


def test_training_that_differs_is_seen(tmp_path):
    setup = lifted(rate_in_a_variable, tmp_path)
    source = source_of(setup)
    other = source._replace(text=source.text.replace('lr=values["rate"]', 'lr=values["rate"] * 1.0001'))
    with pytest.raises(AssertionError, match="net/w"):
        assert_trains_alike(setup, tmp_path, other)


def test_an_update_of_a_workload_that_differs_is_seen(tmp_path):
    setup = lifted(words_of_all_towers, tmp_path)
    source = source_of(setup, "workload")
    result = assert_port_verified(
        setup, tmp_path, source, changed=lambda text: text.replace("lr=0.125", "lr=0.1250001")
    )
    assert not result.passed and result.first.stage == stages.WEIGHTS


def test_a_rate_in_a_variable_is_a_number_of_a_workload(tmp_path):
    source = source_of(lifted(rate_in_a_variable, tmp_path), "workload")
    assert "learning_rate: Any = schedules.Fixed(0.1)" in source.text
    assert "'rate', which no step changes, is 0.1" in source.notes


def late_decay(dtype):
    """A program whose rate falls from the third step on; its counter has a type."""

    def build():
        x = split_batch()
        step = v1.get_variable("step", [], dtype, initializer=v1.zeros_initializer(), trainable=False)
        late = tf.maximum(tf.constant(0, dtype), step - tf.constant(2, dtype))
        rate = v1.train.exponential_decay(0.25, late, 2, 0.5)
        w = weight("w", [3, 2])
        losses = towers(lambda tower: tf.reduce_sum(tf.tanh(tf.matmul(x[tower], w)) ** 2))
        mean = tf.add_n([tf.gradients(loss, [w])[0] for loss in losses]) / TOWERS
        return v1.train.AdamOptimizer(rate).apply_gradients([(mean, w)], step)

    return build


@pytest.mark.parametrize("dtype, late", [(tf.int32, "tf.cast(step, tf.int32) - 2"), (tf.int64, "step - 2")])
def test_whole_numbers_of_a_schedule_have_one_type(dtype, late, tmp_path):
    setup = lifted(late_decay(dtype), tmp_path)
    source = source_of(setup, "workload")
    assert late in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path, source_of(setup))
