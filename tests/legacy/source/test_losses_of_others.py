"""Towers whose losses differ: by results of other towers, or by penalties that each tower has on other weights."""

import dataclasses

import pytest
import tensorflow as tf

from legacy.source.styles.model_text import _functions_missing_in, joined_blocks
from legacy.source.update.losses_of_others import with_rows
from tests.legacy.source.trained import assert_port_verified, assert_trains_alike, source_of
from tests.legacy.variants.programs import BATCH, TOWERS, lifted, mean_of, plain, split_batch, towers, weights
from workloads.support.errors import InputError

v1 = tf.compat.v1


def weight(name, shape):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        return v1.get_variable(name, shape, initializer=v1.glorot_uniform_initializer(seed=2), use_resource=False)


def one_batch():
    """All towers read the same examples, which are scaled before any tower."""
    return [v1.placeholder(tf.float32, [BATCH, 3], name="x") * 0.5] * TOWERS


def summed_collection(activation=tf.tanh, batch=split_batch):
    """Each tower adds its loss and a penalty to a collection, and minimizes the sum of all that is there yet."""

    def build():
        xs, wanted = batch(), [weights(), weight("out", [2, 1])]

        def gradients(tower):
            hidden = activation(tf.matmul(xs[tower], wanted[0]))
            v1.add_to_collection("losses", tf.reduce_mean(tf.matmul(hidden, wanted[1]) ** 2))
            v1.add_to_collection("losses", 0.25 * tf.nn.l2_loss(weight("free", [2])))
            return tf.gradients(tf.add_n(v1.get_collection("losses")), [*wanted, weight("free", [2])])

        means = [tf.add_n(pair) / 2.0 for pair in zip(*towers(gradients))]
        return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(zip(means, [*wanted, weight("free", [2])]))

    return build


def collected_errors():
    """Each tower adds its squared error to a collection without its scope; slices of open batches are the targets.

    TensorFlow 1 computes also the derivatives by the targets, for a control dependency, and so takes their shapes.
    """
    x, y = (v1.placeholder(tf.float32, [None, size], name=name) for name, size in (("x", 3), ("y", 2)))
    targets = []

    def gradients(tower):
        rows = slice(tower * BATCH, (tower + 1) * BATCH)
        targets.append(y[rows, :])
        error = targets[-1] - tf.matmul(x[rows, :], weights())
        v1.add_to_collection("losses", tf.reduce_mean(tf.square(error)))
        gradient, *others = tf.gradients(tf.add_n(v1.get_collection("losses")), [weights(), *targets])
        with tf.control_dependencies(others):
            return tf.identity(gradient)

    return mean_of(towers(gradients))


def collected_penalties():
    """Each tower adds its loss and penalties on three weights to a collection, and minimizes all that is there yet."""
    xs, free = split_batch(), [weight(f"free_{number}", [2]) for number in range(3)]
    wanted = [weights(), *free]

    def gradients(tower):
        v1.add_to_collection("losses", tf.reduce_mean(tf.tanh(tf.matmul(xs[tower], weights())) ** 2))
        for one in free:
            v1.add_to_collection("losses", 0.25 * tf.nn.l2_loss(one))
        return tf.gradients(tf.add_n(v1.get_collection("losses")), wanted)

    means = [tf.add_n(pair) / 2.0 for pair in zip(*towers(gradients))]
    return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(zip(means, wanted))


def scale_of(tower):
    return v1.get_variable(f"scale_{tower}", [3], initializer=v1.constant_initializer(0.5), use_resource=False)


def penalty_of_all_scales():
    """Each tower has a scale of its own, and penalties on all weights that there are yet."""
    xs, made = split_batch(), [weights()]

    def gradients(tower):
        made.append(scale_of(tower))
        loss = tf.reduce_mean(tf.tanh(tf.matmul(xs[tower] * made[-1], weights())) ** 2)
        return tf.gradients(loss + 0.25 * tf.add_n([tf.nn.l2_loss(one) for one in made]), list(made))

    first, second = towers(gradients)
    both = [tf.add_n(pair) / 2.0 for pair in zip(first, second)]
    return v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(zip([*both, second[2]], made))


def test_a_loss_with_results_of_other_towers_is_minimized_on_all_batches(tmp_path):
    setup = lifted(summed_collection(), tmp_path)
    source = source_of(setup, "workload")
    assert "have the old graph's bits" in source.text and "results[0][1]" in source.text
    assert "def tower_loss_with_others(scope, results):" in source.text
    assert "    minimized = tower_loss_with_others(scope, results)" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_a_loss_with_results_of_other_towers_on_one_batch_for_all(tmp_path):
    setup = lifted(summed_collection(batch=one_batch), tmp_path)
    source = source_of(setup, "workload")
    assert [entry.kind for entry in setup.job.workload.plan.inputs] == ["same batch"]
    assert "have the old graph's bits" in source.text and "results[0][1]" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
    other = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace("results[0][1]", "0.0"))
    assert not other.passed and other.first.stage == "gradients"


def test_the_shape_of_another_towers_targets_is_no_input_of_its_own(tmp_path):
    setup = lifted(collected_errors, tmp_path)
    inputs = {entry.name: entry.kind for entry in setup.job.workload.plan.inputs}
    assert inputs == {"x": "batch", "y": "batch"}
    source = source_of(setup, "workload")
    assert "have the old graph's bits" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_penalties_of_a_collection_are_one_list_of_names(tmp_path):
    setup = lifted(collected_penalties, tmp_path)
    source = source_of(setup, "workload")
    own = source.text.partition("def tower_loss_with_others")[2].split("\n\n\n")[0]
    assert own.count("0.25 * tf.nn.l2_loss(scope.get(name)) for name in") == 2 and "initializers" not in own
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
    changed = own.replace("0.25", "0.5", 1)
    other = assert_port_verified(setup, tmp_path, source, changed=lambda whole: whole.replace(own, changed))
    assert not other.passed and other.first.stage == "gradients"


def test_a_loss_without_the_other_towers_results_is_seen(tmp_path):
    setup = lifted(summed_collection(), tmp_path)
    source = source_of(setup, "workload")
    alone = "minimized = results[scope.replica][0]"
    other = assert_port_verified(
        setup,
        tmp_path,
        source,
        changed=lambda text: text.replace("minimized = tower_loss_with_others(scope, results)", alone),
    )
    assert not other.passed and other.first.stage == "gradients"


def test_towers_with_penalties_on_other_weights_have_a_function_each(tmp_path):
    setup = lifted(penalty_of_all_scales, tmp_path)
    source = source_of(setup, "workload")
    assert "return (tower_loss_of_tower_0, tower_loss_of_tower_1)[scope.replica](scope, batch)" in source.text
    assert "have the old graph's bits" in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)


def test_towers_that_are_taken_for_each_other_are_seen(tmp_path):
    setup = lifted(penalty_of_all_scales, tmp_path)
    both, swapped = "(tower_loss_of_tower_0, tower_loss_of_tower_1)", "(tower_loss_of_tower_1, tower_loss_of_tower_0)"
    source = source_of(setup, "workload")
    other = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace(both, swapped))
    assert not other.passed and other.first.stage == "loss"


def test_rows_of_results_come_after_those_that_an_update_needs(tmp_path):
    (phase,) = lifted(summed_collection(), tmp_path).job.workload.plan.phases
    phase = with_rows(dataclasses.replace(phase, early=[["a:0", "b:0"]]), [["c:0", "d:0"]])
    assert phase.early == [["a:0", "b:0"], ["c:0", "d:0"]] and not phase.returns


def test_functions_of_two_towers_that_are_the_same_stand_there_once():
    def blocks(number, loss):
        return [["def layer(x):", f"    return x * {number}"], [f"def {loss}(x):", "    return layer(x)"]]

    assert joined_blocks([("one", blocks(2, "one")), ("two", blocks(2, "two"))]) == [
        *blocks(2, "one"),
        ["def two(x):", "    return layer(x)"],
    ]
    assert joined_blocks([("one", blocks(2, "one")), ("two", blocks(3, "two"))])[2:] == [
        ["def layer_of_two(x):", "    return x * 3"],
        ["def two(x):", "    return layer_of_two(x)"],
    ]


def summed_losses(changed):
    """Each tower minimizes the sum of all losses that there are yet; `changed` draws numbers or makes updates."""

    def build():
        xs, wanted, updates, losses = split_batch(), [weights(), weight("out", [2, 1])], [], []

        def gradients(tower):
            hidden = changed(tf.tanh(tf.matmul(xs[tower], wanted[0])), updates)
            losses.append(tf.reduce_mean(tf.matmul(hidden, wanted[1]) ** 2))
            return tf.gradients(tf.add_n(losses), wanted)

        means = [tf.add_n(pair) / 2.0 for pair in zip(*towers(gradients))]
        step = v1.train.MomentumOptimizer(0.125, 0.5).apply_gradients(zip(means, wanted))
        return tf.group(step, *updates[:1])

    return build


def scaled(hidden, updates):
    return hidden * tf.random.gamma([2], 1.0)


def averaged(hidden, updates):
    with v1.variable_scope("net", reuse=v1.AUTO_REUSE):
        mean = plain("mean", [2])
    updates.append(v1.assign_sub(mean, 0.25 * (mean - tf.reduce_mean(hidden, 0))))
    return hidden - tf.reduce_mean(hidden, 0)


def test_random_numbers_of_a_towers_own_ops_are_refused_beside_other_towers_results(tmp_path):
    setup = lifted(summed_losses(scaled), tmp_path)
    with pytest.raises(InputError, match="a tower's loss contains results of another one, which has random numbers"):
        source_of(setup, "workload")


def test_statistics_beside_other_towers_results_are_those_of_the_replicas_own_batch(tmp_path):
    setup = lifted(summed_losses(averaged), tmp_path)
    source = source_of(setup, "workload")
    own = "scope if n == scope.replica else scope.of(n)"
    assert own in source.text
    assert_port_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path)
    none = assert_port_verified(setup, tmp_path, source, changed=lambda text: text.replace(own, "scope.of(n)"))
    assert not none.passed and none.first.stage == "statistics"


def test_functions_that_a_loss_of_all_towers_alone_calls_are_defined():
    blocks = [["def loss_of_all(losses):", "    return divide(sum(losses), 2.0) + tf.softplus(losses[0])"]]
    assert [block[1] for block in _functions_missing_in(blocks)] == ["def divide(x, y):"]
    assert not _functions_missing_in([*blocks, ["def divide(x, y):"]])
