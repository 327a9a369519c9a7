import dataclasses

import pytest
import tensorflow as tf

from modern.collectives import strategy
from modern.mirrored.state.tf1_rules import Tf1Rules
from modern.mirrored.state.variables import MirroredState
from modern.mirrored.step.replica_step import ReplicaStep
from modern.options import ModernOptions
from tests.cases import Dyadic
from workloads import initializers
from workloads.job import Job
from workloads.program import State
from workloads.support.errors import InputError
from workloads.tracing import trace
from workloads.workload import Clip

# x is 1, 3 on the first replica and 5, 7 on the second: the means are 2 and 6. loss = mean(x) a b, a = 1, b = 2.
BATCHES = ([1.0, 3.0], [5.0, 7.0])


@dataclasses.dataclass(frozen=True)
class Observing(Dyadic):
    """Proposes the mean of x as the next value of a statistic."""

    def loss(self, scope, batch):
        scope.get("seen", (), initializers.Constant(0.0), trainable=False)
        scope.update("seen", tf.reduce_mean(batch["x"]))
        return super().loss(scope, batch)


@dataclasses.dataclass(frozen=True)
class Moving(Observing):
    """Moves the statistic half of the way to the mean of x."""

    def loss(self, scope, batch):
        scope.get("seen", (), initializers.Constant(0.0), trainable=False)
        scope.update("seen", lambda now: now - (now - tf.reduce_mean(batch["x"])) * 0.5)
        return Dyadic.loss(self, scope, batch)


def one_step(workload, eager=False, xla=False):
    """(step, values of both replicas, `State` after it) of one step of two replicas."""
    job, options = Job(workload, 2, 4), ModernOptions(autodiff="tape", xla=xla)
    mirrored = strategy.mirrored_strategy(["CPU:0", "CPU:1"], options)
    statistics = {"seen": tf.constant(0.0).numpy()} if isinstance(workload, Observing) else {}
    weights = {"a": tf.constant(1.0).numpy(), "b": tf.constant(2.0).numpy()}
    variables = MirroredState(mirrored, State(0, weights, {}, statistics, {}))
    step = ReplicaStep(job, options, variables, Tf1Rules(workload.optimizer))

    def run():
        batch = mirrored.experimental_distribute_values_from_function(
            lambda context: tf.constant(BATCHES[context.replica_id_in_sync_group])
        )
        return mirrored.run(step, ({"x": batch},))

    seen = run() if eager else tf.function(run, autograph=False)()
    local = mirrored.experimental_local_results
    values = [tf.nest.map_structure(lambda value, r=r: float(local(value)[r]), seen) for r in range(2)]
    state, drift = variables.read()
    assert drift == []
    return step, values, state


def test_a_synchronous_step_by_hand():
    step, values, state = one_step(Dyadic())
    assert [value.loss for value in values] == [4.0, 12.0]
    assert [value.gradients for value in values] == [{"a": 4.0, "b": 2.0}, {"a": 12.0, "b": 6.0}]
    assert values[0].combined == values[1].combined == {"a": 8.0, "b": 4.0}
    assert values[0].learning_rate == 1 / 16
    assert (state.step, state.weights["a"], state.weights["b"]) == (1, 0.5, 1.75)
    assert step.traces == 2 and not step.eager


def test_gradients_are_summed_where_the_workload_says_so():
    assert one_step(Dyadic(combine="sum"))[1][0].combined == {"a": 16.0, "b": 8.0}


@pytest.mark.parametrize("where, combined", [("tower", {"a": 4.5, "b": 3.5}), ("combined", {"a": 5.0, "b": 4.0})])
def test_gradients_are_clipped_before_or_after_the_all_reduce(where, combined):
    """At 5: the replicas' gradients of a are 4 and 12, of b 2 and 6; the means 8 and 4."""
    assert one_step(Dyadic(clip=Clip(5.0, where, "value")))[1][0].combined == combined


@pytest.mark.parametrize("statistics, expected", [("first_tower", 2.0), ("last_tower", 6.0), ("mean_of_towers", 4.0)])
def test_statistics_are_one_replicas_or_the_mean(statistics, expected):
    _, values, state = one_step(Observing(statistics=statistics))
    assert [value.proposals["seen"] for value in values] == [2.0, 6.0]
    assert state.statistics["seen"] == expected


def test_replicas_change_a_statistic_in_turn():
    """From 0: half of the way to 2 is 1, half of the way from there to 6 is 3.5."""
    _, values, state = one_step(Moving(statistics="towers_in_turn"))
    assert [value.proposals["seen"] for value in values] == [1.0, 3.0]
    assert state.statistics["seen"] == 3.5


def test_replicas_in_turn_need_functions_and_no_xla():
    with pytest.raises(InputError, match="'seen' got a tensor, towers in turn need a function"):
        trace(Observing(statistics="towers_in_turn"))
    with pytest.raises(InputError, match="--xla: got True, not with statistics of towers_in_turn"):
        one_step(Moving(statistics="towers_in_turn"), xla=True)


def test_a_step_that_runs_eagerly_knows_it():
    assert one_step(Dyadic(), eager=True)[0].eager
