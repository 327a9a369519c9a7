"""The proof can fail: each fault is found, at the stage that owns it, under both tolerances and in both modes."""

import contextlib
import dataclasses

import pytest

from parity.comparison import stages
from parity.comparison.runs.options import Companions, Criterion
from parity.comparison.runs.verification import verify
from tests.cases import Everything, setup
from tests.faults import INJECTED
from tests.marks import slow_after
from workloads import optimizers, schedules
from workloads.workload import Clip, MovingAverage

FIXED = schedules.Fixed(0.125)

#: fault, the workload it is injected into, and the step and stage that must be blamed
FAULTS = [
    ("sum_for_mean", Everything(), 0, stages.COMBINED),
    ("clipped_after_and_not_in_towers", Everything(clip=Clip(0.05, "tower")), 0, stages.COMBINED),
    ("mean_of_all_statistics", Everything(), 0, stages.STATISTICS),
    ("last_replicas_statistics", Everything(), 0, stages.STATISTICS),
    ("shards_in_reverse", Everything(), 0, stages.BATCH),
    ("rate_times_replicas", Everything(learning_rate=FIXED), 0, stages.RATE),
    ("keras_epsilon", Everything(optimizer=optimizers.Adam(epsilon=1e-3)), 0, stages.WEIGHTS),
    ("rmsprop_from_zeros", Everything(optimizer=optimizers.RMSProp()), 0, stages.INITIAL),
    ("decay_times_replicas", Everything(), 0, stages.LOSS),
    ("same_noise_on_every_replica", Everything(), 0, stages.LOSS),
    ("one_step_of_the_average_skipped", Everything(moving_average=MovingAverage(0.9)), 2, stages.AVERAGES),
]


def blamed(result):
    """(step, stage) of a failed verification's first failure."""
    assert not result.passed
    return result.first.step, result.first.stage


QUICK = ("sum_for_mean", "keras_epsilon", "last_replicas_statistics", "one_step_of_the_average_skipped")
IN_ORDER = sorted(FAULTS, key=lambda fault: fault[0] not in QUICK)
#: Every fault in one mode and a few in both; the other combinations are slow.
MODES = [(*fault, "free") for fault in FAULTS] + [(*fault, "locked") for fault in IN_ORDER]


@pytest.mark.parametrize(
    "fault, workload, step, stage, mode",
    slow_after(len(FAULTS) + len(QUICK), MODES),
    ids=[f"{case[-1]}-{case[0]}" for case in MODES],
)
def test_exact(fault, workload, step, stage, mode):
    made, inject = setup(workload, 2), INJECTED[fault]
    with made.legacy_program() as left, inject(made) as right:
        assert blamed(verify(left, right, made.job, 4, Criterion(mode, "exact"))) == (step, stage)


@pytest.mark.parametrize("fault, workload, step, stage", slow_after(2, IN_ORDER), ids=[fault[0] for fault in IN_ORDER])
def test_auto(fault, workload, step, stage):
    made = dataclasses.replace(setup(workload, 2), port=INJECTED[fault])
    with contextlib.ExitStack() as stack:
        makers = made.legacy_program, made.modern_program, made.modern_program
        left, right, lockstep = (stack.enter_context(make()) for make in makers)
        references = stack.enter_context(made.closing_references())
        assert blamed(
            verify(left, right, made.job, 4, Criterion("free", "auto"), Companions(lockstep, references))
        ) == (step, stage)


def test_without_a_fault_nothing_is_blamed():
    for workload in {repr(fault[1]): fault[1] for fault in FAULTS}.values():
        made = setup(workload, 2)
        with made.legacy_program() as left, made.modern_program() as right:
            assert verify(left, right, made.job, 4, Criterion("free", "exact")).passed


def test_a_loss_scaled_by_one_ten_thousandth_is_found_in_float32():
    made = setup(Everything(clip=None), 2)

    class Scaled(type(made.job.workload)):
        def loss(self, scope, batch):
            return super().loss(scope, batch) * (1 + 1e-4)

    scaled = dataclasses.replace(made, job=dataclasses.replace(made.job, workload=Scaled()))
    with made.legacy_program() as left, scaled.modern_program() as right, made.closing_references() as floor:
        locked, companions = Criterion("locked", "auto"), Companions(references=floor)
        assert blamed(verify(left, right, made.job, 3, locked, companions)) == (0, stages.LOSS)
