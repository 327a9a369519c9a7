"""Choices that the update ops of recorded old programs show."""

import dataclasses

import pytest

from parity.against.stated_choices import stated_choices
from parity.diagnosis.context.job_context import context_of_job, context_of_towers
from tests import old_programs
from tests.cases import Dyadic
from workloads import optimizers
from workloads.job import Job
from workloads.lifted.workload import load_lift
from workloads.workload import MovingAverage


@pytest.mark.parametrize(
    "name, counters, choices",
    [
        ("b_adam_clip", [], {"optimizer": optimizers.Adam(0.9, 0.999, 1e-8)}),
        (
            "c_queue_ema",
            ["global_step"],
            {"optimizer": optimizers.GradientDescent(), "moving_average": MovingAverage(0.99)},
        ),
        ("e_slim_dropout", ["global_step"], {"optimizer": optimizers.RMSProp(0.9, 0.9, 1.0)}),
    ],
)
def test_an_old_graph_shows_its_optimizer_and_its_average(name, counters, choices):
    assert stated_choices(load_lift(old_programs.lifted(name)), counters) == choices


def test_towers_that_are_not_the_jobs_have_their_own_choices():
    job = Job(dataclasses.replace(Dyadic(), optimizer=optimizers.Adam(epsilon=1e-3)), replicas=2)
    assert context_of_towers(job, None) == context_of_job(job)
    other = context_of_towers(job, {"optimizer": optimizers.Adam()})
    assert (other.replicas, other.global_batch, other.optimizer) == (2, 8, optimizers.Adam())
    assert (other.combine, other.weight_decay, other.decayed) == (None, None, None)
