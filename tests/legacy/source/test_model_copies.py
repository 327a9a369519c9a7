"""Towers that have a copy of the model each: the source has one, where the copies hold the same after every step."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from legacy.source.copies_of_others import with_others_stopped
from legacy.source.prepared import OldProgram, with_shared_variables
from parity.coverage.visits.job_visits import CoverageState
from parity.coverage.visits.lifted_visits import visits_of_lift, with_equal_copies
from tests.legacy.source.trained import assert_trains_alike, assert_workload_verified, source_of
from tests.legacy.variants.programs import TOWERS, lifted, split_batch, towers
from workloads.lifted.fixed_copies import fixed_copies
from workloads.lifted.model_copies import model_copies
from workloads.support.errors import InputError

v1 = tf.compat.v1


def replicated(rates=(0.1, 0.1), seeds=(1, 1), optimizer=lambda rate: v1.train.MomentumOptimizer(rate, 0.9)):
    """Each tower has its own weights, adds up all gradients by itself, and applies the mean."""

    def build():
        xs = split_batch()

        def tower(number):
            with v1.variable_scope(f"replicated_{number}"):
                glorot = v1.glorot_uniform_initializer(seed=seeds[number])
                w = v1.get_variable("w", [3, 2], initializer=glorot, use_resource=False)
                b = v1.get_variable("b", [2], initializer=v1.zeros_initializer(), use_resource=False)
            loss = tf.reduce_mean(tf.tanh(tf.matmul(xs[number], w) + b) ** 2) + 0.01 * tf.nn.l2_loss(w)
            return [w, b], tf.gradients(loss, [w, b])

        made = towers(tower)
        applied = []
        for number, (variables, _) in enumerate(made):
            means = [tf.add_n(list(parts)) / TOWERS for parts in zip(*(gradients for _, gradients in made))]
            applied.append(optimizer(rates[number]).apply_gradients(zip(means, variables)))
        return tf.group(*applied, name="train")

    return build


def with_adam():
    return replicated(optimizer=v1.train.AdamOptimizer)()


@pytest.mark.parametrize("build", [replicated(), with_adam])
def test_a_source_has_one_model(build, tmp_path):
    setup = lifted(build, tmp_path)
    source = source_of(setup, "workload")
    assert "replicated_1" not in source.text.partition('"""\n')[2] and "have the old graph's bits" in source.text
    assert "variables of its own, with equal values" in " ".join(source.text.split())
    assert_workload_verified(setup, tmp_path, source)
    lift = setup.job.workload
    copies = model_copies(lift.plan, lift.graph, lift.values())
    assert_trains_alike(setup, tmp_path, left_out=copies)


def test_copies_are_named_with_their_slots(tmp_path):
    lift = lifted(replicated(), tmp_path).job.workload
    copies = model_copies(lift.plan, lift.graph, lift.values())
    names = ["w", "w/Momentum", "b", "b/Momentum"]
    assert copies == {f"replicated_1/{name}": f"replicated_0/{name}" for name in names}


def with_fixed_tables(numbers=(1.0, 1.0), read_by_all=False):
    """Towers share their weights, and each has a table of numbers that no step changes."""

    def build():
        xs = split_batch()

        def table_of(number):
            with v1.variable_scope(f"tower_{number}"):
                fill = v1.constant_initializer(numbers[number])
                return v1.get_variable("table", [3, 3], initializer=fill, trainable=False, use_resource=False)

        tables = [table_of(number) for number in range(TOWERS)]

        def tower(number):
            x = tf.matmul(xs[number], tables[number]) + (tf.reduce_sum(tables[0]) if read_by_all else 0.0)
            with v1.variable_scope("net", reuse=number > 0):
                glorot = v1.glorot_uniform_initializer(seed=1)
                w = v1.get_variable("w", [3, 2], initializer=glorot, use_resource=False)
            return w, tf.gradients(tf.reduce_mean(tf.tanh(tf.matmul(x, w)) ** 2), [w])[0]

        (w, one), (_, other) = towers(tower)
        return v1.train.MomentumOptimizer(0.1, 0.9).apply_gradients([((one + other) / TOWERS, w)], name="train")

    return build


def test_equal_tables_that_no_step_changes_are_one(tmp_path):
    setup = lifted(with_fixed_tables(), tmp_path)
    source = source_of(setup, "workload")
    assert "tower_1" not in source.text.partition('"""\n')[2] and "update is written as" not in source.text
    assert_workload_verified(setup, tmp_path, source)
    assert_trains_alike(setup, tmp_path, left_out=["tower_1/table"])


@pytest.mark.parametrize("options", [{"numbers": (1.0, 2.0)}, {"read_by_all": True}])
def test_tables_that_differ_or_are_not_one_of_each_tower_stay(options, tmp_path):
    lift = lifted(with_fixed_tables(**options), tmp_path).job.workload
    assert fixed_copies(lift.plan, lift.graph, lift.values()) == {}


def with_penalties(followed=False):
    """A tower adds the penalties on all copies that there are yet; `followed`: its gradients are those of all, too."""

    def build():
        xs, penalties, copies = split_batch(), [], []

        def tower(number):
            with v1.variable_scope(f"replicated_{number}"):
                glorot = v1.glorot_uniform_initializer(seed=1)
                w = v1.get_variable("w", [3, 2], initializer=glorot, use_resource=False)
            copies.append(w)
            penalties.append(0.01 * tf.nn.l2_loss(w))
            loss = tf.reduce_mean(tf.tanh(tf.matmul(xs[number], w)) ** 2) + tf.add_n(penalties)
            parts = tf.gradients(loss, copies if followed else [w])
            return w, tf.add_n([part for part in parts if part is not None])

        made = towers(tower)
        mean = tf.add_n([gradient for _, gradient in made]) / TOWERS
        return v1.train.MomentumOptimizer(0.1, 0.9).apply_gradients([(mean, w) for w, _ in made], name="train")

    return build


def test_penalties_on_other_towers_copies_have_no_gradient(tmp_path):
    setup = lifted(with_penalties(), tmp_path)
    source = source_of(setup, "workload")
    assert "tf.stop_gradient(penalty)" in source.text and "have the old graph's bits" in source.text
    assert_workload_verified(setup, tmp_path, source)
    lift = setup.job.workload
    assert_trains_alike(setup, tmp_path, left_out=model_copies(lift.plan, lift.graph, lift.values()))


def test_penalties_on_other_towers_copies_that_gradients_follow_are_not_written_without_these(tmp_path):
    setup = lifted(with_penalties(followed=True), tmp_path)
    with pytest.raises(InputError, match="contain what the towers' losses do not: replicated_0/w of tower 1"):
        source_of(setup)


def test_a_towers_own_copies_are_not_stopped(tmp_path):
    lift = lifted(replicated(), tmp_path).job.workload
    copies = model_copies(lift.plan, lift.graph, lift.values())
    assert copies and with_others_stopped(lift.plan, lift.graph, copies) is lift.graph


def with_statistics(used=False):
    """Each tower has its own batch normalization, too; `used`: a tower's loss reads the moving mean."""

    def build():
        xs = split_batch()

        def tower(number):
            with v1.variable_scope(f"replicated_{number}"):
                w = v1.get_variable("w", [3, 2], initializer=v1.glorot_uniform_initializer(seed=1), use_resource=False)
                moving = v1.get_variable("mean", [2], initializer=v1.zeros_initializer(), trainable=False)
            y = tf.matmul(xs[number], w)
            mean = tf.reduce_mean(y, 0)
            updated = v1.assign_sub(moving, (moving - mean) * 0.1)
            loss = tf.reduce_mean(tf.tanh(y - mean + (moving if used else 0.0)) ** 2)
            return w, tf.gradients(loss, [w])[0], updated

        made = towers(tower)
        mean = tf.add_n([gradient for _, gradient, _ in made]) / TOWERS
        pairs = [(mean, w) for w, _, _ in made]
        with tf.control_dependencies([updated.op for _, _, updated in made]):
            return v1.train.GradientDescentOptimizer(0.1).apply_gradients(pairs, name="train")

    return build


@pytest.mark.parametrize("used", [False, True])
def test_statistics_of_other_towers_are_left_out_if_no_training_depends_on_them(used, tmp_path):
    setup = lifted(with_statistics(used), tmp_path)
    lift = setup.job.workload
    copies = model_copies(lift.plan, lift.graph, lift.values())
    assert copies == {f"replicated_1/{n}": f"replicated_0/{n}" for n in (["w"] if used else ["w", "mean"])}
    if not used:
        source = source_of(setup, "workload")
        assert "statistics of the other towers' batches" in " ".join(source.text.split())
        assert_workload_verified(setup, tmp_path, source)


@pytest.mark.parametrize("options", [{"rates": (0.1, 0.2)}, {"seeds": (1, 2)}])
def test_models_that_differ_are_no_copies(options, tmp_path):
    lift = lifted(replicated(**options), tmp_path).job.workload
    assert model_copies(lift.plan, lift.graph, lift.values()) == {}
    program = OldProgram(lift.plan, lift.graph, lift.graph, lift.values())
    assert with_shared_variables(program) is program


def uncombined():
    """Each tower trains a model of its own by its own gradients."""
    xs = split_batch()

    def tower(number):
        glorot = v1.glorot_uniform_initializer(seed=1 + number)
        w = v1.get_variable(f"own_{number}", [3, 2], initializer=glorot, use_resource=False)
        return tf.gradients(tf.reduce_mean(tf.tanh(tf.matmul(xs[number], w)) ** 2), [w])[0], w

    return v1.train.MomentumOptimizer(0.1, 0.9).apply_gradients(towers(tower), name="train")


def test_a_source_makes_the_weights_of_all_models_that_are_trained_apart(tmp_path):
    setup = lifted(uncombined, tmp_path)
    source = source_of(setup)
    assert "for replica in range(TOWERS):" in source.text and "have the old graph's bits" in source.text
    assert_trains_alike(setup, tmp_path, source)


def test_shared_weights_are_no_copies(tmp_path):
    def shared():
        xs, w = split_batch(), v1.get_variable("w", [3, 2], use_resource=False)
        gradients = towers(lambda tower: tf.gradients(tf.reduce_sum(tf.matmul(xs[tower], w) ** 2), [w])[0])
        return v1.train.GradientDescentOptimizer(0.1).apply_gradients([(tf.add_n(gradients), w)])

    lift = lifted(shared, tmp_path).job.workload
    assert model_copies(lift.plan, lift.graph, lift.values()) == {}


@pytest.mark.parametrize("has_losses", [True, False])
def test_visits_of_written_losses_keep_copies_equal(has_losses, tmp_path):
    lift = lifted(replicated(), tmp_path).job.workload
    ported = dataclasses.replace(lift, losses={"train": lambda scope, batch: None} if has_losses else {})
    coverage = CoverageState(lambda: True, lambda exposure: False, lambda step: False, lambda: True)
    choose = with_equal_copies(lambda last, coverage: visits_of_lift(ported, [], last, coverage), ported)
    visits = list(choose(lift.initial_state(), coverage))
    pairs = [(v.state.weights["replicated_0/w"], v.state.weights["replicated_1/w"]) for v in visits]
    assert len(pairs) > 4 and all(np.array_equal(*pair) for pair in pairs) == has_losses
