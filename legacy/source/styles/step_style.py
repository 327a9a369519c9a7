"""Style "workload" of a step that no named fields describe: a module with one `StepWorkload`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, List, Mapping, Sequence

from legacy.source.basics.rendering import literal_text
from legacy.source.replica_step.lines import listed
from legacy.source.replica_step.tables import (
    owner_lines,
    owners_of,
    slot_lines,
    slots_of_lines,
    stream_lines,
    table_lines,
    update_variables,
)
from legacy.source.replica_step.train_op import train_op_text
from legacy.source.step.imported_step import ImportedStep
from legacy.source.styles.imported_style import losses_lines
from legacy.source.styles.model_text import with_missing_functions
from legacy.source.styles.workload_style import NAMED, class_name, constant_lines, inputs_lines, name_and_size_lines

if TYPE_CHECKING:
    from legacy.source.update.written import WrittenStep
    from workloads.lifted.plan import Plan


def module_text(
    plan: Plan, step: WrittenStep, docstring: Sequence[str], settings: Mapping[str, Any], starts: Mapping[str, Any]
) -> str:
    """Returns the text of the module.

    Args:
      plan: of the lift.
      step: the training step.
      docstring: lines of the module's docstring.
      settings: {constant: value} of the scalars that were fed.
      starts: {variable: the number that it starts from} of those that no model asks for.

    Returns:
      The text.
    """
    models = [loss.model for loss in step.losses]
    functions = "\n".join(losses_lines(ImportedStep(step.losses, [])))
    constants = list(dict.fromkeys(line for model in models for line in constant_lines(model, settings)))
    constants += [line for name, line in NAMED.items() if re.search(rf"\b{name}\b", functions)]
    for name, weights in step.groups.items():
        constants += listed(name, weights)
    slots, others = update_variables(plan, models, starts)
    constants += (
        table_lines("OTHERS", others, "shape, first value and dtype of the update's variables") if others else []
    )
    constants += slot_lines(slots, step.groups)
    updates = list(dict.fromkeys(train_op_text(one, functions, "workload") for one in step.updates))
    constants += slots_of_lines(plan, updates)
    constants += stream_lines(step.streams)
    owners = owners_of(plan)
    constants += owner_lines(owners)
    parts = ["\n".join(constants), with_missing_functions(functions, updates), *updates]
    tables = {"other_variables": "OTHERS"} if others else {}
    tables.update({"slots": "SLOTS"} if slots else {})
    tables.update({"owners": "OWNERS"} if owners else {})
    parts.append("\n".join(_class_lines(plan, step, tables)))
    body = "\n\n\n".join([*parts, f"PORT = {class_name(plan.name)}()"])
    head = ['"""' + docstring[0], *docstring[1:], '"""', "", "from __future__ import annotations", ""]
    head += ["import dataclasses", "", "import tensorflow as tf", ""]
    head += ["from workloads import initializers"] if re.search(r"\binitializers\.", body) else []
    names = "StepWorkload, gather" if step.calls_gather else "StepWorkload"
    head += [f"from workloads.steps.workload import {names}"]
    head += ["from workloads.workload import InputSpec", ""] if "InputSpec(" in body else [""]
    return "\n".join(head) + "\n" + body + "\n"


def _class_lines(plan: Plan, step: WrittenStep, tables: Mapping[str, str]) -> List[str]:
    """Returns the lines of the class, with a method for each of {method: name of a table}."""
    lines = ["@dataclasses.dataclass(frozen=True)", f"class {class_name(plan.name)}(StepWorkload):"]
    lines += ['    """The old program\'s model and its whole training step."""', ""]
    lines += name_and_size_lines(plan)
    lines += [] if step.any_number else [f"    replicas: int = {plan.towers}"]
    lines += [f"    counter: str = {literal_text(step.counter)}"] if step.counter else []
    lines += ["", "    def inputs(self):", *inputs_lines(step.losses[0].model.inputs, plan.batch)]
    losses = ", ".join(dict.fromkeys(loss.function for loss in step.losses))
    lines += ["", "    def losses(self):", f"        return [{losses}]"]
    functions = ", ".join(update.function for update in step.updates)
    lines += ["", "    def train_ops(self):", f"        return [{functions}]"]
    for method, table in tables.items():
        lines += ["", f"    def {method}(self):", f"        return {table}"]
    return lines
