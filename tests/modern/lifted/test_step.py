"""One step of a lifted program on two replicas, by hand."""

from __future__ import annotations

import pytest
import tensorflow as tf

from modern.collectives.strategy import mirrored_strategy
from modern.lifted.step import LiftedStep
from modern.mirrored.state.variables import MirroredState
from modern.options import ModernOptions
from tests.small_lift import small_job
from workloads.support.errors import InputError

DEVICES = ["CPU:0", "CPU:1"]


def stepped(job, **options):
    """(results of the replicas, the step, the variables) after one step with batches [1, 2] and [3, 4]."""
    options = ModernOptions(exact=True, **options)
    strategy = mirrored_strategy(DEVICES, options)
    variables = MirroredState(strategy, job.workload.initial_state())
    step = LiftedStep(job, 0, variables, options, "keyed")
    batches = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant([[1.0, 2.0], [3.0, 4.0]][context.replica_id_in_sync_group])
    )
    results = tf.function(lambda x: strategy.run(step, ({"x": x},)), autograph=False)(batches)
    local = strategy.experimental_local_results
    return tf.nest.map_structure(lambda value: [float(v) for v in local(value)], results), step, variables


@pytest.mark.parametrize("all_reduce", ["tower_order", "auto"])
@pytest.mark.parametrize("autodiff", ["graph", "new"])
def test_a_step_of_sgd_on_the_mean_gradient(all_reduce, autodiff, tmp_path):
    results, step, variables = stepped(small_job(str(tmp_path / "lift")), all_reduce=all_reduce, autodiff=autodiff)
    assert results.losses == [[6.0, 14.0]] and results.gradients == {"w": [3.0, 7.0]}
    assert set(results.combined["w"]) == {5.0} and set(results.learning_rates[0]) == {0.25}
    state, drift = variables.read()
    assert state.weights == {"w": 0.75} and state.step == 1 and not drift
    assert step.traces == 2 and [step.tower(replica) for replica in range(2)] == [0, 1]
    assert step.describe_reduction("ring") == (
        "as written, on every replica" if all_reduce == "tower_order" else "all-reduce of mean, by ring"
    )


def test_a_loss_that_cannot_be_differentiated_is_refused_at_the_start(tmp_path):
    job = small_job(str(tmp_path / "lift"))
    job.workload.plan.phases[0].losses = []
    with pytest.raises(InputError, match="the graph does not tell what is minimized"):
        stepped(job, autodiff="new")
