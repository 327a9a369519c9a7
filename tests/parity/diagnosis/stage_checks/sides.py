"""Made-up steps of one side."""

from __future__ import annotations

from typing import Any

from parity.diagnosis.stage_checks.side_step import SideStep
from tests.parity.step_records import Numbers, made_up_state, step_record

EPS = 2.0**-23


def side(before: dict[str, Numbers], after: dict[str, Numbers], **record: Any) -> SideStep:
    """Returns a step between two states, each given by the fields of `made_up_state`."""
    number = record.get("step", 0)
    state = made_up_state(**after, step=number + 1)
    return SideStep(step_record(state=state, **record), made_up_state(**before, step=number))
