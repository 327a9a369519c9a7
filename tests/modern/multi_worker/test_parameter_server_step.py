import dataclasses

import pytest
import tensorflow as tf

from modern.mirrored.state.tf1_rules import Tf1Rules
from modern.mirrored.state.variables import MirroredState
from modern.multi_worker.parameter_server_step import WorkerStep
from modern.options import ModernOptions
from tests.cases import Dyadic
from workloads import initializers
from workloads.job import Job
from workloads.program import State
from workloads.workload import Clip


@dataclasses.dataclass(frozen=True)
class Observing(Dyadic):
    """Proposes the mean of x as the next value of a statistic."""

    def loss(self, scope, batch):
        scope.get("seen", (), initializers.Constant(0.0), trainable=False)
        scope.update("seen", tf.reduce_mean(batch["x"]))
        return super().loss(scope, batch)


def updated(workload, replica=0, updates=1):
    """(values of the last update, its staleness, `State` after it) of updates on x = 1, 3, from a = 1 and b = 2."""
    weights = {"a": tf.constant(1.0).numpy(), "b": tf.constant(2.0).numpy()}
    state = State(0, weights, {}, {"seen": tf.constant(0.0).numpy()}, {})
    variables = MirroredState(tf.distribute.get_strategy(), state)
    step = WorkerStep(Job(workload, 2, 4), ModernOptions(), variables, Tf1Rules(workload.optimizer))
    run = tf.function(lambda batch: step(tf.constant(0, tf.int64), replica, batch), autograph=False)
    for _ in range(updates):
        seen, late = run({"x": tf.constant([1.0, 3.0])})
    return seen, int(late), variables.read()[0]


def test_one_replicas_gradient_is_applied_alone():
    seen, late, state = updated(Observing())
    assert float(seen.loss) == 4.0 and late == 0
    assert (float(seen.combined["a"]), float(seen.combined["b"])) == (4.0, 2.0)
    assert (state.weights["a"], state.weights["b"]) == (0.75, 1.875)


def test_the_variable_step_counts_updates():
    _, late, state = updated(Observing(), updates=3)
    assert state.step == 3 and late == 0  # nobody else updated in between


def test_a_lone_gradient_is_clipped_as_a_towers_and_as_the_combined():
    assert float(updated(Observing(clip=Clip(3.0, "combined", "value")))[0].combined["a"]) == 3.0


@pytest.mark.parametrize(
    "statistics, replica, expected",
    [("first_tower", 0, 2.0), ("first_tower", 1, 0.0), ("mean_of_towers", 0, 2.0), ("mean_of_towers", 1, 2.0)],
)
def test_statistics_are_assigned_by_the_first_replica_or_by_all(statistics, replica, expected):
    assert updated(Observing(statistics=statistics), replica)[2].statistics["seen"] == expected
