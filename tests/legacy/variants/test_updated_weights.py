"""Two players that are trained in one run, where the second one's gradients wait for the first one's update."""

import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.graph.graph_file import read_graph_file
from legacy.saved.report.page import inspect_graph
from tests.legacy.variants.programs import BATCH, TOWERS, assert_same, lifted, setup_of, towers
from tests.legacy.variants.test_assigned_values import assert_as_in_a_session
from workloads.lifted.replication import own_number_only, replica_counts
from workloads.support.errors import InputError

v1 = tf.compat.v1
NOTE = "after the step has updated"
WEIGHTS = ["discriminator/w", "generator/w"]
OPTIMIZERS = {
    "gradient descent": lambda: v1.train.GradientDescentOptimizer(0.5),
    "momentum": lambda: v1.train.MomentumOptimizer(0.5, 0.9),
    "Adam": lambda: v1.train.AdamOptimizer(0.05, 0.5),
    "RMSProp": lambda: v1.train.RMSPropOptimizer(0.05),
}


def players(count=TOWERS, make_optimizer=OPTIMIZERS["Adam"], waits=True, use_resource=False, again=False):
    """The train op of both players.

    Args:
      count: number of towers.
      make_optimizer: of each player.
      waits: whether the generator's gradients wait for the discriminator's train op.
      use_resource: whether the weights are resource variables, whose reads are copies.
      again: whether the discriminator judges once more behind its update.
    """
    x = v1.placeholder(tf.float32, [count * BATCH, 3], name="x")
    xs = tf.split(x, count)

    def weight(player, shape):
        with v1.variable_scope(player, reuse=v1.AUTO_REUSE):
            return v1.get_variable(
                "w", shape, initializer=v1.glorot_uniform_initializer(seed=1), use_resource=use_resource
            )

    def judged(made):
        return tf.reduce_mean(tf.square(tf.sigmoid(tf.matmul(made, weight("discriminator", [2, 1])))))

    made = towers(lambda i: tf.tanh(tf.matmul(xs[i], weight("generator", [3, 2]))) if i < count else None)[:count]
    losses = towers(lambda i: judged(made[i]) if i < count else None)[:count]

    def train(losses_of, player, shape):
        trained = weight(player, shape)
        gradients = towers(lambda i: tf.gradients(losses_of(i), trained)[0] if i < count else None)[:count]
        mean = tf.add_n(gradients) / count if count > 1 else gradients[0]
        return make_optimizer().apply_gradients([(mean, trained)])

    first = train(lambda i: losses[i], "discriminator", [2, 1])
    with tf.control_dependencies([first] if waits else []):
        second = train(lambda i: -judged(made[i] + 0.0) if again else -losses[i], "generator", [3, 2])
    return tf.group(first, second)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("count", [1, TOWERS])
def test_gradients_take_the_updated_weights_of_the_other_player(tmp_path, optimizer, count):
    setup = lifted(lambda: players(count, OPTIMIZERS[optimizer]), tmp_path)
    plan = setup.job.workload.plan
    assert any(NOTE in note for note in plan.notes) and plan.updated == ["discriminator/w"]
    assert [combine.weight for phase in plan.phases for combine in phase.combine] == WEIGHTS
    assert_same(setup)
    assert_as_in_a_session(setup, tmp_path)


def test_a_player_that_judges_once_more_behind_its_update(tmp_path):
    setup = lifted(lambda: players(again=True), tmp_path)
    assert setup.job.workload.plan.updated == ["discriminator/w"]
    assert_same(setup)
    assert_as_in_a_session(setup, tmp_path)


@pytest.mark.parametrize("count", [1, TOWERS])
def test_such_a_step_runs_at_its_own_number_of_replicas(tmp_path, count):
    setup = lifted(lambda: players(count), tmp_path)
    assert own_number_only(setup.job.workload.plan)
    with pytest.raises(InputError, match="replicas"), setup_of(str(tmp_path / "lifted"), 4).modern_program() as program:
        program.step()


@pytest.mark.parametrize("waits, use_resource", [(False, False), (True, True)])
def test_gradients_that_take_the_weights_before_the_update(tmp_path, waits, use_resource):
    setup = lifted(lambda: players(waits=waits, use_resource=use_resource), tmp_path)
    plan = setup.job.workload.plan
    assert not any(NOTE in note for note in plan.notes) and plan.updated == []
    assert replica_counts(plan) == "any number"
    assert_same(setup)


def test_an_update_whose_formula_is_not_known_is_refused(tmp_path):
    with tf.Graph().as_default():
        name = players(make_optimizer=lambda: v1.train.AdagradOptimizer(0.1)).name
        v1.train.export_meta_graph(str(tmp_path / "graph.meta"))
    with pytest.raises(InputError, match="after the step changed it"):
        analyse_graph(read_graph_file(str(tmp_path / "graph.meta")), "players", [name])


@pytest.mark.parametrize("waits", [True, False])
def test_the_page_says_what_a_port_of_several_replicas_does_where_there_is_one(tmp_path, waits):
    lifted(lambda: players(1, waits=waits), tmp_path)
    sections = inspect_graph(str(tmp_path / "graph.meta"))
    assert all(("in a port of several replicas" in row["are"]) is not waits for row in sections["combining"])
    assert {row["what"]: row["is"] for row in sections["next"]}["replicas"].startswith("1 only" if waits else "any")
    assert any(NOTE in row["what"] for row in sections["watch"]) is waits
