"""Mutants of averages, statistics and batches."""

import dataclasses

import numpy as np
import pytest

from parity.coverage.mutants import state_mutants
from parity.coverage.mutants.native_mutants import native_mutants
from parity.coverage.mutants.update_mutants import GradientLog
from parity.coverage.schedules import RateFunction
from tests.cases import Dyadic, setup
from tests.parity.coverage.cases import dyadic_job, observed, seen
from workloads import initializers, tracing
from workloads.workload import MovingAverage


def average_step(number, average, rule):
    job = dyadic_job(moving_average=rule)
    before = {"weights": {"w": [1.0, 2.0]}, "averages": {"w": [average, average]}}
    return job, observed(job, before, {"weights": {"w": [1.5, 2.0]}}, step=number)


@pytest.mark.parametrize("number, shown", [(3, False), (2000, True)])
def test_the_warm_up_hides_the_decay(number, shown):
    job, step = average_step(number, 0.5, MovingAverage(0.99))
    assert ("moving_average.decay" in seen(state_mutants.average_mutants(job), step)) == shown


def test_warm_up_and_place_show_in_the_first_steps():
    job, step = average_step(3, 0.5, MovingAverage(0.99))
    assert {"moving_average.warm_up", "moving_average.place"} <= seen(state_mutants.average_mutants(job), step)


@pytest.mark.parametrize("decay", [0.9, 0.99, 0.999, 0.9999])
def test_the_warm_up_ends_where_the_decay_is_reached(decay):
    end = state_mutants.end_of_warm_up(MovingAverage(decay))

    def warm(step):  # the decay of the update that counts from one
        return (1 + step + 1) / (10 + step + 1)

    assert warm(end) >= decay * (1 - 1e-12) and (end == 0 or warm(end - 1) < decay)
    assert state_mutants.end_of_warm_up(MovingAverage(decay, warm_up=False)) == 0


def changes_all(name):
    return ""


@pytest.mark.parametrize("second, shown", [([0.5, 1.0], True), ([0.25, 1.0], False)])
def test_the_policy_shows_where_replicas_propose_other_values(second, shown):
    job = dyadic_job()
    step = observed(
        job,
        {"statistics": {"mean": [0.0, 1.0]}},
        {"statistics": {"mean": [0.25, 1.0]}},
        proposals=[{"mean": [0.25, 1.0]}, {"mean": second}],
    )
    found = seen(state_mutants.statistic_mutants(job, ["mean"], changes_all), step)
    assert ("statistics" in found) == shown and "statistics of mean" in found


def test_a_statistic_that_stays_shows_nothing():
    still = {"statistics": {"mean": [0.5]}}
    step = observed(dyadic_job(), still, still, proposals=[{"mean": [0.5]}] * 2)
    assert seen(state_mutants.statistic_mutants(dyadic_job(), ["mean"], changes_all), step) == set()


def harmless(mutants):
    return {mutant.name: mutant.harmless() for mutant in mutants}


def test_a_statistic_that_the_model_only_reads_cannot_matter():
    constant = {"scale": "the model does not change it"}
    found = harmless(
        state_mutants.statistic_mutants(dyadic_job(), ["mean", "scale"], lambda name: constant.get(name, ""))
    )
    assert found == {"statistics": "", "statistics of mean": "", "statistics of scale": constant["scale"]}
    assert all(harmless(state_mutants.statistic_mutants(dyadic_job(), ["scale"], constant.get)).values())


def test_a_policy_cannot_matter_where_all_replicas_get_the_same_batch():
    def why(same_batch):
        mutants = state_mutants.statistic_mutants(dyadic_job(), ["mean"], changes_all, same_batch)
        return harmless(mutants)["statistics"]

    assert why(True) == "all replicas get the same batch, as the old program's towers do" and why(False) == ""


def test_the_model_tells_which_statistics_it_changes():
    @dataclasses.dataclass(frozen=True)
    class Scaled(Dyadic):
        def loss(self, scope, batch):
            mean, scale = (
                scope.get(name, (), initializers.Constant(1.0), trainable=False) for name in ("mean", "scale")
            )
            scope.update("mean", mean * 0.5)
            return super().loss(scope, batch) * scale

    job = setup(Scaled()).job
    specs = tracing.trace(job.workload, job.per_replica_batch)
    rate = RateFunction(job.workload.learning_rate, job.global_batch)
    found = harmless(native_mutants(job, setup(Scaled()).make_source(job), specs, rate, [], GradientLog()))
    assert found["statistics of scale"] == "the model does not change it" and found["statistics of mean"] == ""


@pytest.mark.parametrize(
    "rows, shown",
    [
        ([[1, 2], [3, 4]], {"input of the replicas", "input x"}),
        ([[1, 2], [1, 2]], {"input x"}),
        ([[1, 1], [2, 2]], {"input of the replicas"}),
        ([[[1, 2]], [[1, 2]]], {"input x"}),  # one row, whose entries count
        ([[[1, 1]], [[2, 2]]], {"input of the replicas"}),
        ([[1], [2]], {"input of the replicas"}),
    ],
)
def test_an_order_shows_where_rows_differ(rows, shown):
    shards = [{"x": np.asarray(part, np.float32)} for part in rows]
    job = dyadic_job()
    assert seen(state_mutants.batch_mutants(job, lambda step: shards), observed(job)) == shown


@pytest.mark.parametrize(
    "copied, shown", [((), {"input of the replicas"}), (("x",), {"input of the replicas", "input x"})]
)
def test_of_copied_rows_the_entries_are_put_in_another_order(copied, shown):
    shards = [{"x": np.float32([row, row])} for row in ([1, 2], [3, 4])]
    assert seen(state_mutants.batch_mutants(dyadic_job(), lambda step: shards, copied), observed(dyadic_job())) == shown


@pytest.mark.parametrize("shared, shown", [(("x",), {"input x"}), ((), {"input of the replicas", "input x"})])
def test_replicas_that_all_get_the_same_have_no_order(shared, shown):
    shards = [{"x": np.float32([1, 2])}] * 2
    mutants = state_mutants.batch_mutants(dyadic_job(), lambda step: shards, shared=shared)
    assert {mutant.name for mutant in mutants} == shown


@pytest.mark.parametrize("shape, names", [((), []), ((1,), ["input of the replicas"])])
def test_scalars_have_no_order(shape, names):
    """A batch of scalars alone is one of settings, such as the place of examples that variables hold."""
    shards = [{"start": np.zeros(shape, np.int32)}] * 2
    assert [mutant.name for mutant in state_mutants.batch_mutants(dyadic_job(), lambda step: shards)] == names
