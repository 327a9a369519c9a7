"""Standalone programs whose update no named optimizer describes: a function for each train op, update included."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple

import numpy as np

from legacy.source.basics.expressions import Item, Variable, leaves
from legacy.source.basics.rendering import WIDTH, item_lines, literal_text
from legacy.source.standalone.optimizer_text import counter_of, dict_text
from legacy.source.standalone.parts import (
    clip_lines,
    constants_of,
    has_rows,
    in_tensorflows_words,
    scope_text,
    statistics_text,
)
from legacy.source.standalone.text import MAIN, trainer_text
from legacy.source.standalone.update_text import COUNT, GATHER, MAKE, MAKE_LOSS, MAKE_LOSS_OF_ALL, MAKE_SLOTS, RUN
from legacy.source.step.imported_step import ImportedStep
from legacy.source.step.statistics import EACH_TOWER
from legacy.source.styles.imported_style import losses_lines
from legacy.source.styles.workload_style import all_statements

if TYPE_CHECKING:
    from legacy.source.step.model import Model
    from legacy.source.update.recovered import WrittenStep, WrittenUpdate
    from workloads.lifted.plan import Plan
    from workloads.lifted.plan import Variable as PlanVariable

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
    slots, others = _variables(plan, step, models, starts)
    counter = counter_of(plan) if len(plan.phases) == 1 else ""
    others.update({} if counter else {_OWN_STEP: "((), 0, tf.int64)"})
    lines += _table("OTHERS", others, "shape, first value and dtype of the update's variables")
    lines += _slot_lines(slots, step.groups)
    lines.append(f"STEP = {literal_text(counter or _OWN_STEP)}")
    owners = {v.name: v.tower for v in plan.variables if v.role == "state" and v.tower is not None}
    lines += [f"OWNERS = {dict_text(owners)}  # replicas whose own states these are"] if owners else []
    imports = ["import argparse", *(["import itertools"] if slots else []), "", "import numpy as np"]
    text = '"""' + "\n".join([*docstring, '"""', "", *imports, "import tensorflow as tf", "", *lines])
    parts = [functions, *(train_op_text(update, functions) for update in step.updates)]
    names = ", ".join(update.function for update in step.updates)
    parts += [*([GATHER] if step.gathers else []), f"TRAIN_OPS = [{names}]"]
    parts += [scope_text(models, functions), _trainer_text(step, bool(slots), counter, owners)]
    parts.append(_main_text(not step.any_number))
    return text + "".join("\n\n\n" + part.rstrip("\n") for part in parts) + "\n"


def train_op_text(update: WrittenUpdate, functions: str) -> str:
    """Returns the text of the function of a train op.

    Args:
      update: the train op.
      functions: text of the losses.

    Returns:
      The text.
    """
    path, loss = update.path, update.loss
    head = [f"def {update.function}(scope, batch, variables, context):"]
    if loss is None:
        head.append(f'    """Runs {update.phase.train_op}, which has no loss; returns zero."""')
        return "\n".join([*head, f"{_INDENT}values = scope.values", *update.lines, "    return tf.zeros([])"])
    body = ["values = scope.values"]
    body.append(f"{', '.join(['loss', *update.factor.parts])} = {loss.function}(scope, batch)")
    body += [f"{part}s = gather(context, {part})" for part in update.factor.parts]
    body += textwrap.dedent("\n".join(update.factor.lines)).splitlines()
    weights = f"[values[name] for name in {update.group}]"
    if path.scale != 1.0:
        body.append(f"seed = tf.constant({literal_text(np.float32(path.scale))})")
    seed = ", seed" if path.scale != 1.0 else ", factor" if update.factor.parts else ""
    body.append(f'gradients = tf.gradients(loss, {weights}{seed}, unconnected_gradients="zero")')
    if has_rows(functions) and path.rows:
        body += listed("rows", path.rows)
        body.append(f"pairs = zip({update.group}, gradients)")
        body.append("gradients = [g if name in rows else tf.convert_to_tensor(g) for name, g in pairs]")
    elif has_rows(functions):
        body.append("gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]")
    body += clip_lines(path.clip)
    if path.combine:
        body.append(f"gradients = context.all_reduce(tf.distribute.ReduceOp.{path.combine.upper()}, gradients)")
        body += clip_lines(path.clip_after)
        body.append(f"gradients = dict(zip({update.group}, gradients))")
    else:
        body.append(f"gradients = {{n: gather(context, gradient) for n, gradient in zip({update.group}, gradients)}}")
    body += ["losses = gather(context, loss)"] if update.uses_losses else []
    head.append(f'    """Runs a replica\'s part of {update.phase.train_op}; returns its loss."""')
    statistics = textwrap.indent(textwrap.dedent(statistics_text(loss.model)), _INDENT)
    statistics = statistics.replace("local[", "variables[").replace(" replica ==", " scope.replica ==")
    lines = head + [_INDENT + line for line in body] + statistics.splitlines() + update.lines
    return "\n".join([*lines, "    return loss"])


def listed(name: str, items: Sequence[str]) -> List[str]:
    """Returns the lines that give a list of texts a name."""
    line = f"{name} = {literal_text(list(items))}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{name} = [", *item_lines(items, 4), "]"]


def _variables(
    plan: Plan, step: WrittenStep, models: Sequence[Model], starts: Mapping[str, Any]
) -> Tuple[Dict[str, Dict[str, Any]], Dict[str, str]]:
    """Returns {weight: {slot: first value}}, None for the weight's own, and {other variable: text of how it starts}."""
    asked = {name for model in models for name in _asked(model)}
    slots: Dict[str, Dict[str, Any]] = {}
    others: Dict[str, str] = {}
    for variable in plan.variables:
        if variable.name in asked and variable.dtype.startswith("float"):
            continue
        if variable.of in asked and variable.name.startswith(variable.of + "/"):
            start = None if variable.role == "average" else starts[variable.name]
            slots.setdefault(variable.of, {})[variable.name[len(variable.of) + 1 :]] = start
        else:
            others[variable.name] = _start_text(variable, starts[variable.name])
    return slots, others


def _start_text(variable: PlanVariable, start: Any) -> str:
    value = int(start) if "int" in variable.dtype else bool(start) if variable.dtype == "bool" else np.float32(start)
    return f"({literal_text(tuple(variable.shape))}, {literal_text(value)}, tf.{variable.dtype})"


def _asked(model: Model) -> List[str]:
    """Returns the variables that a model asks for, those of all replicas included."""
    found: List[str] = []
    for statement in all_statements(model):
        for leaf in leaves(statement.expression):
            if isinstance(leaf, Variable):
                name = leaf.name
                found += [name] if isinstance(name, str) else list(name.base.value) if isinstance(name, Item) else []
    return found


def _slot_lines(slots: Mapping[str, Mapping[str, Any]], groups: Mapping[str, Sequence[str]]) -> List[str]:
    """Returns the lines of [(weights, {slot: first value})]; weights with equal slots stand together."""
    if not slots:
        return []
    alike: Dict[str, List[str]] = {}
    for weight, own in slots.items():
        alike.setdefault(dict_text(own), []).append(weight)
    lines: List[str] = []
    items: List[str] = []
    for text, weights in alike.items():
        name = _sum_of_groups(weights, groups)
        if not name:
            name = re.sub(r"\W", "_", next(iter(slots[weights[0]]))).upper() + "_WEIGHTS"
            name += f"_{len(items) + 1}" if any(line.startswith(name + " = ") for line in lines) else ""
            lines += listed(name, weights)
        items.append(f"({name}, {text})")
    line = "SLOTS = [" + ", ".join(items) + "]"
    return [*lines, line] if len(line) <= WIDTH else [*lines, "SLOTS = [", *(f"{_INDENT}{i}," for i in items), "]"]


def _sum_of_groups(weights: Sequence[str], groups: Mapping[str, Sequence[str]]) -> str:
    """Returns the text of a list of weights as one of those that have names, or as all of them, or ""."""
    for name, group in groups.items():
        if set(group) == set(weights):
            return name
    everything = [weight for group in groups.values() for weight in group]
    return " + ".join(groups) if sorted(everything) == sorted(weights) else ""


def _table(name: str, values: Mapping[str, str], comment: str) -> List[str]:
    line = f"{name} = {{" + ", ".join(f"{literal_text(key)}: {text}" for key, text in values.items()) + "}"
    if len(line) + len(comment) + 4 <= WIDTH:
        return [f"{line}  # {comment}"]
    return [f"{name} = {{  # {comment}", *(f"    {literal_text(key)}: {text}," for key, text in values.items()), "}"]


def _trainer_text(step: WrittenStep, has_slots: bool, counter: str, owners: Mapping[str, int]) -> str:
    losses = ""
    for loss in {loss.function: loss for loss in step.losses}.values():
        make = MAKE_LOSS_OF_ALL if loss.model.statistics.policy == EACH_TOWER else MAKE_LOSS
        losses += make.format(function=loss.function)
    make = MAKE.format(losses=losses, slots=MAKE_SLOTS if has_slots else "")
    owner = "OWNERS.get(n, 0)" if owners else "0"
    return trainer_text(make, RUN + ("" if counter else COUNT), bool(counter), in_turn=True, owner=owner)


def _main_text(fixed: bool) -> str:
    """Returns the text of `main`; of a program for one number of replicas without the flag."""
    text = MAIN.replace("trainer.step(batch)", "trainer.step(batch, step)")
    if fixed:
        text = re.sub(r'    parser.add_argument\("--replicas".*\n', "", text).replace("flags.replicas", "TOWERS")
    return text
