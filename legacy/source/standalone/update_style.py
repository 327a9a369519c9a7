"""Standalone programs whose update no named optimizer describes: a function for each train op, update included."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Mapping, Sequence

from legacy.source.basics.rendering import literal_text
from legacy.source.basics.values_of_all import OF_ALL
from legacy.source.lines.naming import free_name
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
from legacy.source.standalone.parts import constants_of, in_tensorflows_words
from legacy.source.standalone.scope import ScopeText, scope_of
from legacy.source.standalone.text import MAIN, trainer_text
from legacy.source.standalone.update_text import COUNT, GATHER, MAKE, MAKE_LOSS, MAKE_LOSS_OF_ALL, MAKE_SLOTS, RUN
from legacy.source.step.imported_step import ImportedStep
from legacy.source.step.model import has_own_variables
from legacy.source.step.statistics import EACH_TOWER
from legacy.source.styles.imported_style import losses_lines
from legacy.source.styles.model_text import with_missing_functions

if TYPE_CHECKING:
    from legacy.source.update.written import WrittenStep
    from workloads.lifted.plan import Plan

_INDENT = "    "
#: Name of the program's own count of steps, where the old one has none for all train ops.
_OWN_STEP = "step"


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
    functions = in_tensorflows_words(losses_lines(ImportedStep(step.losses, [])))
    lines = constants_of(plan, models, settings, functions, any_number=step.any_number)
    for name, weights in step.groups.items():
        lines += listed(name, weights)
    slots, others = update_variables(plan, models, starts)
    counter = step.counter or free_name(_OWN_STEP, [variable.name for variable in plan.variables])
    others.update({} if step.counter else {counter: "((), 0, tf.int64)"})
    lines += table_lines("OTHERS", others, "shape, first value and dtype of the update's variables")
    lines += slot_lines(slots, step.groups)
    updates = list(dict.fromkeys(train_op_text(update, functions) for update in step.updates))
    lines += slots_of_lines(plan, updates)
    lines += stream_lines(step.streams)
    lines.append(f"STEP = {literal_text(counter)}")
    owners = owners_of(plan)
    lines += owner_lines(owners)
    imports = ["import argparse", *(["import itertools"] if slots else []), "", "import numpy as np"]
    text = '"""' + "\n".join([*docstring, '"""', "", *imports, "import tensorflow as tf", "", *lines])
    parts = [with_missing_functions(functions, updates), *updates]
    names = ", ".join(update.function for update in step.updates)
    parts += [
        *([GATHER] if step.calls_gather or f"{OF_ALL}(" in functions + "".join(updates) else []),
        f"TRAIN_OPS = [{names}]",
    ]
    of_others = any(loss.with_others for loss in step.losses)
    scope = scope_of(models, functions, "".join(updates), of_others)
    parts += [scope.text, _trainer_text(step, scope, slots, owners)]
    parts.append(_main_text(not step.any_number, any(model.inputs for model in models)))
    return text + "".join("\n\n\n" + part.rstrip("\n") for part in parts) + "\n"


def _trainer_text(
    step: WrittenStep, scope: ScopeText, slots: Mapping[str, Mapping[str, Any]], owners: Mapping[str, int]
) -> str:
    losses = ""
    for loss in {loss.function: loss for loss in step.losses}.values():
        own_state = loss.model.statistics.policy == EACH_TOWER or bool(loss.model.others)
        of_all = own_state or has_own_variables(loss.model)
        make = MAKE_LOSS_OF_ALL if of_all else MAKE_LOSS
        losses += make.format(first_pass=scope.first_pass(loss.function, "replica" if of_all else ""))
    whole = any("{}" in slot for own in slots.values() for slot in own)
    make_slots = MAKE_SLOTS.format(name="slot.format(name)" if whole else 'f"{name}/{slot}"') if slots else ""
    make = MAKE.format(losses=losses, slots=make_slots)
    owner = "OWNERS.get(n, 0)" if owners else "0"
    run = RUN.format(scope=scope.of_values("values[STEP]")) + ("" if step.counter else COUNT)
    return trainer_text(make, run, bool(step.counter), in_turn=True, owner=owner)


def _main_text(fixed: bool, has_inputs: bool) -> str:
    """Returns the text of `main`; of a program for one number of replicas, or without data, without their flags."""
    text = MAIN.replace("trainer.step(batch)", "trainer.step(batch, step)")
    if not has_inputs:
        text = re.sub(r'    parser.add_argument\("--data".*\n|    data(set)? = .*\n', "", text)
        text = re.sub(r"for step, batch in zip.*", "for step in range(flags.steps):  # on constants of the model", text)
        text = text.replace("trainer.step(batch, step)", "trainer.step({}, step)")
    if fixed:
        text = re.sub(r'    parser.add_argument\("--replicas".*\n', "", text).replace("flags.replicas", "TOWERS")
    return text
