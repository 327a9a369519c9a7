"""Plan of a lift, as plain data: what `legacy.saved` finds in an old graph, and what both sides run.

Here: its records, their JSON, and checks of a plan that was read. Not here: how a plan is found, or run.
Start with `plan.py`, then `phase.py`."""

from workloads.lifted.plan.phase import (
    Combine,
    Effect,
    Phase,
    effects_by_variable,
    indices_label,
    is_indices_label,
    part_label,
    weight_of_label,
)
from workloads.lifted.plan.plan import FORMAT, Plan
from workloads.lifted.plan.records import (
    Condition,
    ControlDependency,
    LoopCounter,
    Race,
    ReadVersion,
    ResultExchange,
    TensorType,
)
from workloads.lifted.plan.step_inputs import Input, Noise, Variable

__all__ = [
    "FORMAT",
    "Combine",
    "Condition",
    "ControlDependency",
    "Effect",
    "Input",
    "LoopCounter",
    "Noise",
    "Phase",
    "Plan",
    "Race",
    "ReadVersion",
    "ResultExchange",
    "TensorType",
    "Variable",
    "effects_by_variable",
    "indices_label",
    "is_indices_label",
    "part_label",
    "weight_of_label",
]
