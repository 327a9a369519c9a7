"""Towers that each read variables of their own: other numbers of replicas run where a step changes all of them."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.analysis.other_numbers.equal_copies import begun_apart
from legacy.saved.report.page import inspect_graph
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.variants.programs import TOWERS, assert_same, lifted, setup_of, split_batch, towers
from workloads.lifted.replication import replica_counts
from workloads.support.errors import InputError

v1 = tf.compat.v1
ONLY = "2 only: each tower reads variables of its own, which need not stay equal ({})"


def program(
    trained, resource=False, names=("tower_0", "tower_1"), optimizer=v1.train.GradientDescentOptimizer, apart=False
):
    """Two towers, the first layer of which is in a scope of the tower's, the second one shared.

    Args:
      trained: numbers of the towers whose own weights are updated, by the mean of all towers' gradients.
      resource: the kind of variables.
      names: of the towers' scopes.
      optimizer: of all weights.
      apart: whether the towers' own weights begin with numbers of their own.
    """

    def build():
        xs = split_batch()

        def weight(name, shape, seed=1):
            initializer = v1.glorot_uniform_initializer(seed=seed)
            return v1.get_variable(name, shape, initializer=initializer, use_resource=resource)

        def tower(number):
            with v1.variable_scope(names[number]):
                own = weight("own", [3, 3], 1 + number * apart)
            with v1.variable_scope("head", reuse=v1.AUTO_REUSE):
                head = weight("w", [3, 2])
            loss = tf.reduce_mean(tf.tanh(xs[number] @ own @ head) ** 2)
            return [own, head], tf.gradients(loss, [own, head])

        made = towers(tower)
        means = [tf.add_n(list(parts)) / TOWERS for parts in zip(*(gradients for _, gradients in made))]
        pairs = [(means[0], made[number][0][0]) for number in trained]
        return optimizer(0.125).apply_gradients([*pairs, (means[1], made[0][0][1])], name="train")

    return build


def at(replicas, tmp_path):
    """The same program at another number of replicas."""
    return dataclasses.replace(setup_of(str(tmp_path / "lifted"), replicas), replicated=True)


STALE = {
    "of the first tower": (program([0]), "tower_0/own"),
    "of the last tower, resources": (program([1], resource=True, names=("a", "b")), "a/own"),
    "none": (program([], optimizer=v1.train.AdamOptimizer), "tower_0/own"),
}


@pytest.mark.parametrize("kind", STALE)
def test_towers_whose_own_variables_are_not_all_changed_run_at_their_own_number(kind, tmp_path):
    build, name = STALE[kind]
    setup = lifted(build, tmp_path)
    assert replica_counts(setup.job.workload.plan) == ONLY.format(name)
    page = inspect_graph(str(tmp_path / "graph.meta"))
    assert {row["what"]: row["is"] for row in page["towers"]}["replicas of a port"] == ONLY.format(name)
    assert_same(setup)
    others = at(4, tmp_path)
    for make in (others.legacy_program, others.modern_program):
        with pytest.raises(InputError, match="replicas: got 4, each tower reads variables of its own"), make() as made:
            made.step()


@pytest.mark.parametrize("optimizer", [v1.train.GradientDescentOptimizer, v1.train.AdamOptimizer])
def test_copies_that_a_step_changes_in_all_towers_run_at_any_number(optimizer, tmp_path):
    setup = lifted(program([0, 1], optimizer=optimizer), tmp_path)
    plan = setup.job.workload.plan
    assert plan.own_variables == [] and replica_counts(plan) == "any number"
    assert_same(setup)
    assert_same(at(3, tmp_path))


def test_copies_that_begin_apart_run_at_their_own_number(tmp_path):
    setup = lifted(program([0, 1], apart=True), tmp_path)
    assert replica_counts(setup.job.workload.plan) == ONLY.format("tower_0/own")
    assert_same(setup)
    with pytest.raises(InputError, match="replicas: got 4, each tower reads variables of its own"):
        at(4, tmp_path).legacy_program().__enter__()


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize(
    "optimizers",
    [
        (v1.train.GradientDescentOptimizer(0.125), v1.train.GradientDescentOptimizer(0.25)),
        (v1.train.GradientDescentOptimizer(0.125), v1.train.MomentumOptimizer(0.125, 0.5)),
    ],
)
def test_copies_that_towers_update_by_rules_of_their_own_run_at_their_own_number(optimizers, resource, tmp_path):
    def build():
        xs = split_batch()

        def tower(number):
            with v1.variable_scope(f"tower_{number}"):
                initializer = v1.glorot_uniform_initializer(seed=1)
                own = v1.get_variable("own", [3, 3], initializer=initializer, use_resource=resource)
            return own, tf.gradients(tf.reduce_mean(tf.tanh(xs[number] @ own) ** 2), [own])[0]

        owns, gradients = zip(*towers(tower))
        mean = tf.add_n(list(gradients)) / TOWERS
        updates = [one.apply_gradients([(mean, own)]) for one, own in zip(optimizers, owns)]
        return tf.group(*updates, name="train")

    setup = lifted(build, tmp_path)
    assert replica_counts(setup.job.workload.plan) == ONLY.format("tower_0/own")
    assert_same(setup)


def of_tables(apart=False, is_changed=False, is_drawn=False, resource=False):
    """Two towers, each with a table of its own, which nothing trains, before a layer that they share.

    Args:
      apart: whether the tables begin with other numbers.
      is_changed: whether an op of another run changes the second one.
      is_drawn: whether they begin with random numbers, of one seed.
      resource: the kind of variables.
    """

    def build():
        xs = split_batch()

        def tower(number):
            first = tf.constant([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5], [0.0, 1.0 + apart * number, 1.5]])
            if is_drawn:
                first = tf.random.stateless_uniform([3, 3], [1, 2])
            table = v1.Variable(first, trainable=False, name=f"table_{number}", use_resource=resource)
            if is_changed and number:
                v1.assign_add(table, tf.ones([3, 3]))
            with v1.variable_scope("head", reuse=v1.AUTO_REUSE):
                head = v1.get_variable("w", [3, 2], initializer=v1.glorot_uniform_initializer(seed=1))
            return tf.gradients(tf.reduce_mean(tf.tanh(xs[number] @ table @ head) ** 2), [head])[0], head

        gradients, heads = zip(*towers(tower, scope=None))
        return v1.train.GradientDescentOptimizer(0.125).apply_gradients([(tf.add_n(gradients) / TOWERS, heads[0])])

    return build


@pytest.mark.parametrize("resource", [True, False])
def test_tables_that_nothing_changes_run_at_any_number(resource, tmp_path):
    setup = lifted(of_tables(resource=resource), tmp_path)
    assert setup.job.workload.plan.own_variables == [] and replica_counts(setup.job.workload.plan) == "any number"
    assert_same(setup)
    assert_same(at(3, tmp_path))


@pytest.mark.parametrize("other", ["apart", "is_changed", "is_drawn"])
def test_tables_that_need_not_stay_equal_run_at_their_own_number(other, tmp_path):
    setup = lifted(of_tables(**{other: True}), tmp_path)
    assert replica_counts(setup.job.workload.plan) == ONLY.format("table_0")
    assert_same(setup)


def test_tables_that_differ_in_a_checkpoint_are_told():
    plan = analyse_graph(saved(traced(of_tables()), trainable_variables=["head/w"]), "tables").plan
    own = [("table_0", "table_1"), ("head/w", "head/w")]
    start = {"table_0": np.ones(3), "table_1": np.ones(3), "head/w": np.ones(2)}
    assert plan.own_variables == [] and begun_apart(own, plan, start) == []
    assert begun_apart(own, plan, {**start, "table_1": np.zeros(3)}) == ["table_0"]
