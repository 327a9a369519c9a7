"""Ways to feed towers and to update variables in the style of 2016-2019, each lifted and compared bit by bit."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.training import moving_averages

from tests.legacy.variants.programs import (
    BATCH,
    TOWERS,
    apply,
    assert_same,
    gradient_of,
    lifted,
    mean_of,
    plain,
    split_batch,
    sum_of_squares,
    towers,
    weights,
)
from workloads.lifted.sources import LiftedData

v1 = tf.compat.v1


def test_a_weighted_sum_of_terms_is_the_loss(tmp_path):
    """Plain tf.gradients leaves no gradient op for a sum; its terms race with nothing that the step computes."""

    def build():
        xs = split_batch()

        def gradient(i):
            loss = sum_of_squares(xs[i]) + 0.5 * tf.reduce_mean(xs[i]) + 0.01 * tf.nn.l2_loss(weights())
            return tf.gradients(loss, [weights()])[0]

        return mean_of(towers(gradient))

    setup = lifted(build, tmp_path)
    assert setup.job.workload.plan.phases[0].losses == ["tower_0/add_1:0", "tower_1/add_1:0"]
    assert_same(setup)


def test_placeholders_without_any_shape_that_are_split(tmp_path):
    def build():
        xs = tf.split(v1.placeholder(tf.float32, name="x"), TOWERS)
        return mean_of(towers(lambda i: gradient_of(tf.reshape(xs[i], [-1, 3]))))

    setup = lifted(build, tmp_path)
    (entry,) = setup.job.workload.plan.inputs
    assert (entry.name, entry.shape, entry.kind, entry.example) == ("x", None, "batch", [None, 3])
    assert_same(setup)


@pytest.mark.parametrize("validate_shape", [False, True])
def test_examples_that_each_tower_holds_in_a_variable(validate_shape, tmp_path):
    """As LocalSyncParallelOptimizer of RLlib did: loaded once, of a shape that is known then; a scalar says where."""

    def build():
        at = v1.placeholder(tf.int32, [], name="at")

        def part(tower):
            rows = tf.reshape(tf.range(24.0 * (tower + 1), delta=tower + 1.0) / 64.0, [8, 3])
            rows = rows if validate_shape else tf.boolean_mask(rows, tf.cast(tf.ones([8]), tf.bool))
            options = {"trainable": False, "collections": [], "use_resource": False}
            held = v1.Variable(rows, validate_shape=validate_shape, **options)
            return tf.reshape(tf.slice(held, tf.stack([at, 0]), [BATCH, 3]), [BATCH, 3])

        return mean_of(towers(lambda i: gradient_of(part(i))))

    setup = lifted(build, tmp_path)
    assert setup.job.workload.has_examples
    assert_same(setup)


def test_constant_slices_of_a_placeholder_tell_the_batch(tmp_path):
    def build():
        x = v1.placeholder(tf.float32, name="x")
        return mean_of(towers(lambda i: gradient_of(tf.reshape(x[i * BATCH : (i + 1) * BATCH], [BATCH, 3]))))

    setup = lifted(build, tmp_path)
    plan = setup.job.workload.plan
    assert plan.batch == BATCH and plan.inputs[0].example == [None, 3]
    assert_same(setup)


@pytest.mark.parametrize("split", [True, False])
def test_a_sparse_input_is_dealt_to_towers_together(split, tmp_path):
    def build():
        if split:
            whole = v1.sparse_placeholder(tf.float32, [TOWERS * BATCH, 3], name="words")
            parts = v1.sparse_split(sp_input=whole, num_split=TOWERS, axis=0)
        else:
            parts = [v1.sparse_placeholder(tf.float32, name=f"words_{i}") for i in range(TOWERS)]

        def gradient(i):
            rows = v1.sparse_tensor_dense_matmul(parts[i], weights())
            return tf.gradients(tf.reduce_sum(tf.tanh(rows) ** 2), [weights()])[0]

        return mean_of(towers(gradient))

    setup = lifted(build, tmp_path)
    parts = {entry.sparse.rpartition("/")[2] for entry in setup.job.workload.plan.inputs}
    assert parts == {"indices", "values", "shape"}
    assert_same(setup)


def test_a_sparse_input_that_all_towers_take_whole_is_one_for_all(tmp_path):
    def build():
        xs, words = split_batch(), v1.sparse_placeholder(tf.float32, [BATCH, 3], name="words")

        def gradient(i):
            rows = tf.matmul(xs[i], weights()) + v1.sparse_tensor_dense_matmul(words, weights())
            return tf.gradients(tf.reduce_sum(tf.tanh(rows) ** 2), [weights()])[0]

        return mean_of(towers(gradient))

    setup = lifted(build, tmp_path)
    parts = [entry for entry in setup.job.workload.plan.inputs + setup.job.workload.plan.common if entry.sparse]
    assert {"words/indices", "words/values"} <= {entry.sparse for entry in parts}
    assert all(entry.is_shared for entry in parts)
    assert_same(setup)
    first, second = (setup.make_source(setup.job).shards(0)[replica] for replica in range(TOWERS))
    assert all(np.array_equal(first[entry.name], second[entry.name]) for entry in parts)
    words = {entry.name: first[entry.name] for entry in parts}
    x = next(entry.name for entry in setup.job.workload.plan.inputs if not entry.sparse)
    own = LiftedData(setup.job, lambda step: {**words, x: np.ones([TOWERS * BATCH, 3], np.float32)}, {})
    assert all(np.array_equal(shard[name], words[name]) for shard in own.shards(0) for name in words)


def test_open_dimensions_that_must_fit_each_other(tmp_path):
    def build():
        xs, ys = (tf.split(v1.placeholder(tf.float32, [None, None], name=name), TOWERS) for name in "xy")

        def gradient(i):
            return tf.gradients(tf.reduce_sum((tf.matmul(xs[i], weights()) - ys[i]) ** 2), [weights()])[0]

        return mean_of(towers(gradient))

    setup = lifted(build, tmp_path)
    assert {entry.name: entry.example for entry in setup.job.workload.plan.inputs} == {"x": [None, 3], "y": [None, 2]}
    assert_same(setup)


def test_two_towers_update_an_average_without_bias(tmp_path):
    def build():
        xs, mean = split_batch(), plain("mean", [2])

        def gradient(i):
            moments = tf.reduce_mean(tf.matmul(xs[i], weights()), 0)
            with v1.variable_scope("debiased", reuse=v1.AUTO_REUSE):
                update = moving_averages.assign_moving_average(mean, moments, 0.9, zero_debias=True)
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, update)
            return gradient_of(xs[i])

        gradients = towers(gradient)
        with v1.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
            return mean_of(gradients)

    assert_same(lifted(build, tmp_path))


def test_weights_are_clipped_after_the_update(tmp_path):
    def build():
        xs = split_batch()
        clip = v1.assign(weights(), tf.clip_by_value(weights(), -0.5, 0.5), name="clip")
        return v1.group(mean_of(towers(lambda i: gradient_of(xs[i]))), clip)

    setup = lifted(build, tmp_path)
    assert [effect.op for effect in setup.job.workload.plan.phases[0].effects] == ["ApplyGradientDescent", "Assign"]
    assert_same(setup)


def test_towers_that_update_rows_by_themselves(tmp_path):
    """Plain descent on an embedding is a ScatterSub, and no update rule by name."""

    def build():
        ids = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH], name="ids"), TOWERS)

        def train(i):
            loss = tf.reduce_sum(tf.tanh(tf.nn.embedding_lookup(weights(), ids[i])) ** 2)
            return v1.train.GradientDescentOptimizer(0.1).minimize(loss)

        return v1.group(*towers(train))

    setup = lifted(build, tmp_path)
    phase = setup.job.workload.plan.phases[0]
    assert [effect.op for effect in phase.effects] == ["ScatterSub"] * TOWERS and all(phase.gradients)
    assert_same(setup)


def test_a_tower_whose_loss_contains_anothers_is_named_and_identical(tmp_path):
    def build():
        xs, total = split_batch(), [tf.constant(0.0)]

        def gradient(i):
            total.append(total[-1] + sum_of_squares(xs[i]))
            return tf.gradients(total[-1], [weights()])[0]

        return mean_of(towers(gradient))

    setup = lifted(build, tmp_path)
    plan = setup.job.workload.plan
    assert plan.towers == TOWERS and plan.notes == [
        "tower 1's loss contains what tower 0 computes: tower_1/add takes tower_0/add:0"
    ]
    assert not plan.phases[0].returns[0] and plan.phases[0].returns[1]
    assert_same(setup)


def test_a_lookup_placed_with_its_variable_belongs_to_the_tower_that_uses_it(tmp_path):
    def build():
        ids = tf.split(v1.placeholder(tf.int32, [TOWERS * BATCH], name="ids"), TOWERS)
        with tf.device("/gpu:0"):
            table = weights()

        def gradient(i):
            with v1.colocate_with(table):
                rows = tf.gather(table, ids[i])
            return tf.convert_to_tensor(tf.gradients(tf.reduce_sum(tf.tanh(rows) ** 2), [table])[0])

        return mean_of(towers(gradient, scope=None))

    setup = lifted(build, tmp_path)
    plan = setup.job.workload.plan
    assert plan.found_by == "device /gpu:k" and [entry.name for entry in plan.inputs] == ["ids"]
    assert_same(setup)


def batch_norm(x, switch, mean):
    """Centres a tower's activations by their own mean, or in evaluation by the moving one."""
    own = tf.reduce_mean(tf.matmul(x, weights()), 0)

    def train():
        with v1.control_dependencies([v1.assign(mean, 0.9 * mean + 0.1 * own)]):
            return tf.identity(own)

    centre = v1.cond(switch, train, lambda: tf.identity(mean))
    return tf.reduce_sum(tf.tanh(tf.matmul(x, weights()) - centre) ** 2)


@pytest.mark.parametrize("kind", ["placeholder", "variable"])
def test_a_switch_without_a_telling_name_is_tried_both_ways(kind, tmp_path):
    def build():
        v1.disable_control_flow_v2()
        xs, mean = split_batch(), plain("mean", [2])
        switch = v1.placeholder(tf.bool, []) if kind == "placeholder" else v1.get_variable("mode", initializer=False)
        losses = towers(lambda i: batch_norm(xs[i], switch, mean))
        return mean_of([tf.gradients(loss, [weights()])[0] for loss in losses])

    setup = lifted(build, tmp_path)
    plan = setup.job.workload.plan
    assert list(plan.settings.values()) == [True] and "is taken as True" in plan.notes[0]
    assert [effect.op for effect in plan.phases[0].effects].count("Assign") == TOWERS
    assert_same(setup)


def test_statistics_that_a_branch_updates_only_now_and_then(tmp_path):
    """The branch is decided by the step; the update inside it holds a node of the branch by a control edge."""

    def build():
        v1.disable_control_flow_v2()
        xs, mean, step = split_batch(), plain("mean", [2]), plain("step", [])
        losses = towers(lambda i: batch_norm(xs[i], tf.equal(step % 2.0, 0.0), mean))
        train = mean_of([tf.gradients(loss, [weights()])[0] for loss in losses])
        with v1.control_dependencies([train]):
            return v1.assign_add(step, 1.0).op

    assert_same(lifted(build, tmp_path))


def test_updates_that_were_fetched_beside_the_train_op(tmp_path):
    def build(name="train"):
        xs, mean = split_batch(), plain("mean", [2])

        def gradient(i):
            own = tf.reduce_mean(tf.matmul(xs[i], weights()), 0)
            update = v1.assign_sub(mean, 0.1 * (mean - own), name="update")
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, update)
            return gradient_of(xs[i])

        return v1.group(mean_of(towers(gradient)), name=name)

    (tmp_path / "without").mkdir()
    without = lifted(build, tmp_path / "without").job.workload.plan
    assert any("2 update ops never run with the train op: tower_0/update, tower_1/update" in n for n in without.notes)
    setup = lifted(build, tmp_path, beside=["tower_0/update", "tower_1/update"])
    plan = setup.job.workload.plan
    assert plan.phases[0].train_op == "train_and_beside" and len(plan.phases[0].effects) == 1 + TOWERS
    assert not any("never run" in note for note in plan.notes)
    assert_same(setup)


def test_an_optimizer_written_by_hand_has_its_slots(tmp_path):
    """AdamW by assignments: moments of the weight's shape belong to it, the count of steps does not."""

    def build():
        xs = split_batch()
        gradient = tf.add_n(towers(lambda i: gradient_of(xs[i]))) / TOWERS
        first, second, count = plain("first", [3, 2]), plain("second", [3, 2]), plain("count", [], 1.0)
        m, v = 0.9 * first + 0.1 * gradient, 0.99 * second + 0.01 * gradient**2
        moved = weights() - 0.1 * (m / (1.0 - 0.9**count) / (tf.sqrt(v) + 1e-6) + 0.01 * weights())
        assigns = [v1.assign(first, m), v1.assign(second, v), v1.assign(weights(), moved), v1.assign_add(count, 1.0)]
        return v1.group(*assigns)

    setup = lifted(build, tmp_path)
    roles = {variable.name: (variable.role, variable.of) for variable in setup.job.workload.plan.variables}
    assert roles["first"] == roles["second"] == ("slot", "net/w") and roles["net/w"] == ("weight", "")
    assert roles["count"] == ("statistic", "")
    assert_same(setup)


def test_a_loss_scale_that_rises_or_falls_in_opposite_branches(tmp_path):
    """Mixed precision of 2018: the step is skipped after an overflow; no more than one of the two updates runs."""

    def build():
        v1.disable_control_flow_v2()
        xs, scale = split_batch(), plain("scale", [], 3.0)
        grads = towers(lambda i: tf.gradients(sum_of_squares(xs[i]) * tf.exp(scale), [weights()])[0])
        mean = tf.add_n(grads) / TOWERS * tf.exp(-scale)
        rise = lambda: tf.group(v1.assign_add(scale, 0.25), apply(mean))  # noqa: E731
        fall = lambda: tf.group(v1.assign_sub(scale, 1.0))  # noqa: E731
        return v1.group(v1.cond(tf.reduce_all(v1.is_finite(mean)), rise, fall), name="train")

    setup = lifted(build, tmp_path)
    plan = setup.job.workload.plan
    assert plan.towers == TOWERS and all(race.reader for race in plan.phases[0].races)
    assert_same(setup)


def test_a_dynamic_loss_scale_that_rises_after_every_second_good_step(tmp_path):
    """The count of good steps, and the scale's own `cond` behind it, are in the branch of finite gradients."""

    def build():
        v1.disable_control_flow_v2()
        xs, scale = split_batch(), plain("scale", [], 4.0)
        good = v1.get_variable("good_steps", initializer=0, trainable=False, use_resource=False)
        scaled = towers(lambda i: sum_of_squares(xs[i]) * scale)
        mean = tf.add_n([tf.gradients(loss, [weights()])[0] / scale for loss in scaled]) / TOWERS

        def finite():
            with tf.control_dependencies([apply(mean)]):
                count = v1.assign_add(good, 1)
                return tf.group(
                    v1.cond(tf.equal(count % 2, 0), lambda: v1.assign(scale, scale * 2.0), lambda: tf.identity(scale))
                )

        def overflow():
            return tf.group(v1.assign(scale, scale / 2.0), v1.assign(good, 0))

        return v1.group(v1.cond(tf.reduce_all(v1.is_finite(mean)), finite, overflow), name="train")

    setup = lifted(build, tmp_path)
    assert_same(setup)
    with setup.modern_program() as program:
        scales = [float(program.step().state.statistics["scale"]) for _ in range(4)]
    assert scales == [4.0, 8.0, 8.0, 16.0]


def test_centered_rmsprop_whose_slots_were_made_in_another_order(tmp_path):
    def build():
        xs = split_batch()
        grads = towers(lambda i: gradient_of(xs[i]))
        optimizer = v1.train.RMSPropOptimizer(0.125, momentum=0.5, centered=True)
        return optimizer.apply_gradients([(tf.add_n(grads) / TOWERS, weights())], name="train")

    setup = lifted(build, tmp_path)
    (effect,) = [e for e in setup.job.workload.plan.phases[0].effects if "RMSProp" in e.op]
    assert effect.writes == ["net/w", "net/w/RMSProp_1", "net/w/RMSProp", "net/w/RMSProp_2"]
    assert_same(setup)


def where_on_training(x, training):
    """The square of normalized inputs, with the choice of moments that TensorFlow 1.4 makes for inputs of rank 3."""
    with v1.variable_scope("statistics", reuse=v1.AUTO_REUSE):
        mean, kept = tf.reduce_mean(x, 0), plain("moving_mean", [3])
    choice = [tf.expand_dims(one, 0) for one in (training, mean, kept)]
    chosen = tf.squeeze(v1.where(*choice), [0])
    return sum_of_squares(x - chosen), v1.assign_sub(kept, (kept - mean) * 0.1)


@pytest.mark.parametrize("second_order", [False, True])
def test_a_where_and_derivatives_of_a_cond_on_is_training(second_order, tmp_path):
    """The second is a gradient penalty of a network with a `cond`, whose gradient switches on a Merge's number."""

    def build():
        training = v1.placeholder(tf.bool, [], "is_training")
        parts = split_batch()

        def loss(tower):
            value, update = where_on_training(parts[tower], training)
            if second_order:
                score = lambda x: v1.cond(training, lambda: sum_of_squares(x), lambda: tf.reduce_sum(x))  # noqa: E731
                both = tf.gradients([score(parts[tower]), score(parts[tower] * 2.0)], [parts[tower]])
                value += tf.reduce_mean((tf.norm(both[0], axis=1) - 1.0) ** 2)
            return tf.gradients(value, [weights()])[0], update

        made = towers(loss)
        with tf.control_dependencies([made[0][1]]):
            return mean_of([gradient for gradient, _ in made])

    v1.disable_control_flow_v2()
    try:
        setup = lifted(build, tmp_path)
    finally:
        v1.enable_control_flow_v2()
    assert_same(setup)


def test_rows_that_are_looked_up_for_all_towers_at_once(tmp_path):
    """As on the CPU, before the batch is split; each replica of the lift looks up its own."""

    def build():
        table = v1.get_variable("table", [7, 3], initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)
        with tf.device("/cpu:0"):
            rows = tf.nn.embedding_lookup(table, v1.placeholder(tf.int32, [TOWERS * BATCH], "words"))
        parts = tf.split(rows, TOWERS)
        found = towers(lambda i: tf.gradients(sum_of_squares(parts[i]), [table, weights()]))
        rate = 0.1 / TOWERS
        values, ids = (tf.concat([getattr(g, part) for g, _ in found], 0) for part in ("values", "indices"))
        return tf.group(v1.scatter_sub(table, ids, rate * values), mean_of([g for _, g in found]))

    setup = lifted(build, tmp_path)
    assert [entry.name for entry in setup.job.workload.plan.inputs] == ["words"]
    assert_same(setup)
