import numpy as np
import pytest

from parity.diagnosis import collect
from parity.diagnosis.collect import FIRST, FREE, MOST_STEPS, collect_evidence, most_steps
from parity.diagnosis.context.job_context import Context
from tests.parity.step_records import MadeUpProgram, made_up_state, step_record
from workloads import optimizers
from workloads.support.errors import InputError


def records(count, value=0.0):
    """Records whose weights after step i are (value, i + 1)."""
    return [step_record(i, state=made_up_state({"w": [value, i + 1.0]}, step=i + 1)) for i in range(count)]


def test_free_steps_are_taken_from_each_sides_own_state():
    left, right = MadeUpProgram(records(3)), MadeUpProgram(records(3, value=9.0))
    evidence = collect_evidence(left, right, Context(), free=3, locked=0)
    assert [step.left.step for step in evidence.steps] == [0, 1, 2]
    assert [step.locked for step in evidence.steps] == [False] * 3
    assert evidence.steps[1].left_before is evidence.steps[0].left.state
    assert evidence.steps[1].right_before is evidence.steps[0].right.state
    assert right.loaded == []
    assert evidence.retake_last_step is None


def test_locked_steps_are_taken_from_the_lefts_state():
    left, right = MadeUpProgram(records(3)), MadeUpProgram(records(4, value=9.0))
    evidence = collect_evidence(left, right, Context(), free=1, locked=2)
    assert [step.locked for step in evidence.steps] == [False, True, True]
    assert right.loaded == [evidence.steps[0].left.state, evidence.steps[1].left.state]
    assert evidence.steps[2].right_before is evidence.steps[2].left_before
    assert evidence.retake_last_step().step == 3  # the right's next record, from the last step's state
    assert right.loaded[-1] is evidence.steps[2].right_before


def test_of_many_steps_the_first_and_the_last_are_kept(monkeypatch):
    monkeypatch.setattr(collect, "MOST_STEPS", FREE)
    left, right = MadeUpProgram(records(FREE + 4)), MadeUpProgram(records(FREE + 4))
    evidence = collect_evidence(left, right, Context(), free=FREE + 4, locked=0)
    kept = [step.left.step for step in evidence.steps]
    assert kept == [*range(FIRST), *range(FIRST + 4, FREE + 4)]


@pytest.mark.parametrize("bytes_of_weights, most", [(8, MOST_STEPS), (4 << 20, 60), (16 << 20, 32), (1 << 30, FREE)])
def test_large_states_leave_room_for_fewer_steps(bytes_of_weights, most):
    weights = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (bytes_of_weights // 4,), (0,))
    assert most_steps(made_up_state({"w": weights}), replicas=2) == most


class MadeUpRecording(MadeUpProgram):
    """A program with a recording's attributes."""

    path = "made_up.npz"

    def __init__(self, steps, weights=None, job=None):
        super().__init__(records(steps), made_up_state(weights))
        self.steps, self.manifest = steps, {} if job is None else {"job": job}


def test_recordings_are_compared_over_the_steps_that_both_hold():
    job = {"replicas": "4", "workload.optimizer": "Momentum(momentum=0.5, nesterov=False)"}
    evidence = collect.evidence_of_recordings(MadeUpRecording(3, job=job), MadeUpRecording(2))
    assert len(evidence.steps) == 2
    assert evidence.context.replicas == 4
    assert evidence.context.optimizer == optimizers.Momentum(0.5)
    assert evidence.context.about == {"left": {"records": "3"}, "right": {"records": "2"}}
    assert len(collect.evidence_of_recordings(MadeUpRecording(3), MadeUpRecording(3), 1).steps) == 1


@pytest.mark.parametrize(
    "right, message",
    [
        (MadeUpRecording(0), "at least one step"),
        (MadeUpRecording(1, {"v": [1.0, 2.0]}), "no variable has a name and shape of --left's, such as w"),
        (MadeUpRecording(1, {"w": [1.0]}), "no variable has a name and shape"),
    ],
)
def test_recordings_without_a_step_or_a_weight_in_common_are_refused(right, message):
    with pytest.raises(InputError, match=message):
        collect.evidence_of_recordings(MadeUpRecording(1), right)
