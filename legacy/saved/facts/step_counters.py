"""Facts of the counters that a training step raises."""

from __future__ import annotations

import re

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.rows import Row

#: Role of a counter of steps.
STEP_COUNTER = "step counter"
#: The name that TensorFlow gives the count of one average's updates.
LOCAL_STEP = re.compile(r"(^|/)local_step(_\d+)?$")


def counter_rows(analysed: AnalysedStep) -> list[Row]:
    """Returns a row for each update of a step counter; those of debiased averages count for these alone, and have none.

    Args:
      analysed: the training step.
    """
    rows = []
    for phase in analysed.phases:
        for effect in phase.effects:
            name = effect.writes[0] if effect.writes else ""
            if effect.values and analysed.is_counter(name) and counter_role(analysed, name) == STEP_COUNTER:
                by = analysed.addend(effect)
                text = "-" if by is None else f"{by:g}"
                text += ", under a condition" if analysed.is_conditional(effect) else ""
                rows.append({"variable": name, "rises by": text, "by op": effect.node})
    return rows


def counter_role(analysed: AnalysedStep, counter: str) -> str:
    """Returns the role of a counter: of steps, or of the updates of one average, whose zero start it corrects.

    TensorFlow counts the updates of each average with `zero_debias` (`assign_moving_average`).

    Args:
      analysed: the training step.
      counter: name of the variable.
    """
    if not LOCAL_STEP.search(counter):
        return STEP_COUNTER
    behind = analysed.graph.descendants([counter], controls=False)
    effects = [effect for phase in analysed.phases for effect in phase.effects if effect.node in behind]
    moved = {effect.writes[0] for effect in effects if effect.writes and effect.writes[0] != counter}
    roles = {variable.name: variable.role for variable in analysed.plan.variables}
    of_one = moved.pop() if len(moved) == 1 else ""
    is_average = roles.get(of_one) in ("statistic", "average") and not analysed.is_counter(of_one)
    return f"updates of {of_one}" if is_average and not behind & analysed.rules else STEP_COUNTER
