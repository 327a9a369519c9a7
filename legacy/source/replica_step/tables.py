"""Tables of the variables that an update has beside the model's: slots of weights, and others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Sequence, Tuple

import numpy as np

from legacy.source.basics.expressions import Item, Variable, leaves
from legacy.source.basics.rendering import literal_text
from legacy.source.definitions.update_noise import NOISES
from legacy.source.lines.line_breaks import WIDTH
from legacy.source.lines.naming import free_name
from legacy.source.replica_step.lines import dict_text, listed
from legacy.source.replica_step.variable_names import split_name
from legacy.source.step.model import all_statements
from legacy.source.update.changes.groups import text_of_group
from legacy.source.update.changes.weight_loops import SLOTS_OF, slots_by_weight

if TYPE_CHECKING:
    from legacy.source.step.model import Model
    from workloads.lifted.plan import Plan
    from workloads.lifted.plan import Variable as PlanVariable

_INDENT = "    "


def update_variables(
    plan: Plan, models: Sequence[Model], starts: Mapping[str, Any]
) -> Tuple[Dict[str, Dict[str, Any]], Dict[str, str]]:
    """Finds the variables that the models do not make.

    Args:
      plan: of the lift.
      models: of its train ops.
      starts: {variable: the number that it starts from} of those that no model asks for.

    Returns:
      {weight: {slot: first value}}, None for the weight's own; and {other variable: text of how it starts}. A slot is
      what its name has behind the weight's; where one was made in a scope, it is the name with {} for the weight's.
    """
    asked = {name for model in models for name in _asked(model)}
    shapes = {variable.name: variable.shape for variable in plan.variables}
    like_weights = [v for v in plan.variables if v.of in asked and v.shape == shapes.get(v.of)]
    named = {variable.name: split_name(variable.name, variable.of) for variable in like_weights}
    scoped = any(name is not None and name.scope for name in named.values())
    slots: Dict[str, Dict[str, Any]] = {}
    others: Dict[str, str] = {}
    for variable in plan.variables:
        if variable.name in asked and variable.dtype.startswith("float"):
            continue
        name = named.get(variable.name)
        if name is not None:
            start = None if variable.role == "average" else starts[variable.name]
            slot = f"{name.scope}{{}}{name.ending}" if scoped else name.ending[1:]
            slots.setdefault(variable.of, {})[slot] = start
        else:
            others[variable.name] = _start_text(variable, starts[variable.name])
    return slots, others


def variables_of_whole_numbers(plan: Plan, model: Model) -> Dict[str, str]:
    """Returns {variable: text of how it starts} of those that a model asks for and that are no floats, as labels."""
    asked = set(_asked(model))
    kept = [v for v in plan.variables if v.name in asked and not v.dtype.startswith("float")]
    return {variable.name: _start_text(variable, 0) for variable in kept}


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


def slot_lines(slots: Mapping[str, Mapping[str, Any]], groups: Mapping[str, Sequence[str]]) -> List[str]:
    """Returns the lines of [(weights, {slot: first value})]; weights with equal slots stand together."""
    if not slots:
        return []
    alike: Dict[str, List[str]] = {}
    for weight, own in slots.items():
        alike.setdefault(dict_text(own), []).append(weight)
    lines: List[str] = []
    items: List[Tuple[str, str]] = []
    taken = set(groups)  # a train op may be called as a slot is: Adam
    for text, weights in alike.items():
        name = text_of_group(weights, groups)
        if not name:
            slot = next(iter(slots[weights[0]])).rpartition("{}/")[2]
            name = free_name(re.sub(r"\W", "_", slot).upper() + "_WEIGHTS", taken)
            taken.add(name)
            lines += listed(name, weights)
        items.append((name, text))
    line = "SLOTS = [" + ", ".join(f"({name}, {text})" for name, text in items) + "]"
    if len(line) <= WIDTH:
        return [*lines, line]
    return [*lines, "SLOTS = [", *(one for item in items for one in _slot_item_lines(*item)), "]"]


def _slot_item_lines(weights: str, slots: str) -> List[str]:
    """Returns the lines of one item of the list of slots; in parts, where one line is too long."""
    line = f"{_INDENT}({weights}, {slots}),"
    if len(line) <= WIDTH:
        return [line]
    inner = _INDENT * 2
    lines = [f"{inner}{weights},"]
    if len(lines[0]) > WIDTH:
        lines = [f"{inner}{part}" for part in weights.replace(" + ", "\n+ ").splitlines()]
        lines[-1] += ","
    own = f"{inner}{slots},"
    if len(own) > WIDTH:
        entries = re.findall(r'"[^"]*": [^,}]*', slots)
        own = "\n".join([f"{inner}{{", *(f"{inner}{_INDENT}{entry}," for entry in entries), f"{inner}}},"])
    return [f"{_INDENT}(", *lines, *own.splitlines(), f"{_INDENT}),"]


def owners_of(plan: Plan) -> Dict[str, int]:
    """Returns {variable: tower} of the states that one tower has for itself."""
    return {v.name: v.tower for v in plan.variables if v.role == "state" and v.tower is not None}


def owner_lines(owners: Mapping[str, int]) -> List[str]:
    """Returns the line of {variable: replica} of `owners_of`; none without such states."""
    return [f"OWNERS = {dict_text(owners)}  # replicas whose own states these are"] if owners else []


def slots_of_lines(plan: Plan, updates: Sequence[str]) -> List[str]:
    """Returns the lines of the table of slots that are not named after their weights, if an update's text uses it."""
    if not any(f"[{SLOTS_OF}[" in text for text in updates):
        return []
    values = {weight: literal_text(slots) for weight, slots in slots_by_weight(plan).items()}
    return table_lines(SLOTS_OF, values, "slots of each weight")


def stream_lines(streams: Mapping[str, str]) -> List[str]:
    """Returns the lines of the table of the random streams of noise on gradients, if there is any."""
    values = {weight: literal_text(stream) for weight, stream in streams.items()}
    return table_lines(NOISES, values, "random streams of the noise on gradients") if streams else []


def table_lines(name: str, values: Mapping[str, str], comment: str) -> List[str]:
    """Returns the lines of a dict with a comment: one, or one for each item.

    Args:
      name: of the dict.
      values: {key: text of its value}.
      comment: at the end of the first line.

    Returns:
      The lines.
    """
    line = f"{name} = {{" + ", ".join(f"{literal_text(key)}: {text}" for key, text in values.items()) + "}"
    if len(line) + len(comment) + 4 <= WIDTH:
        return [f"{line}  # {comment}"]
    return [f"{name} = {{  # {comment}", *(f"    {literal_text(key)}: {text}," for key, text in values.items()), "}"]
