import numpy as np
import pytest

from parity.comparison import stages
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.signatures.stage_values import stage_rows
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record
from workloads import optimizers


@pytest.mark.parametrize("optimizer", [optimizers.Momentum(0.5), optimizers.Adagrad(), optimizers.GradientDescent()])
def test_what_the_optimizer_takes_up_is_read_from_its_slot_or_from_the_change(optimizer):
    slot = next(iter(optimizer.slots()), None)
    gained = 9.0 if slot == "accumulator" else 3.0
    slots = ({f"w/{slot}": [1.0]}, {f"w/{slot}": [1.0 * getattr(optimizer, "momentum", 1.0) + gained]})
    before = made_up_state({"w": [1.0]}, slots[0] if slot else {})
    after = made_up_state({"w": [1.0 - 0.5 * 3.0]}, slots[1] if slot else {})
    step = compared_step(step_record(combined={"w": [3.0]}, state=after), None, before)
    (row,) = stage_rows(made_up_evidence([step], Context(1, 4, optimizer=optimizer)))[stages.SLOTS]
    assert row.actual["w"] == row.expected["w"] == gained


def test_stages_that_are_not_recorded_have_no_rows():
    rows = stage_rows(made_up_evidence())
    assert {stage for stage, found in rows.items() if found} == {stages.INITIAL}
    assert np.array_equal(rows[stages.INITIAL][0].actual["w"], [1.0, 2.0])
