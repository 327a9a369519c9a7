"""Correspondence of a workload's inputs with those of a lifted graph: by name, or by shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from legacy.source.lines.identifiers import identifier
from workloads.lifted.made_up_data import part_of_whole
from workloads.lifted.plan import Input, Plan
from workloads.lifted.plan.settings import scalar_inputs
from workloads.support.errors import InputError
from workloads.workload import InputSpec


def match_inputs(
    plan: Plan, specs: Mapping[str, InputSpec], settings: Mapping[str, object], own_step: bool = False
) -> dict[str, str]:
    """Finds the input of the old graph for each input of a workload: by name, or as the only one of its shape.

    A name without its scopes is enough if only one input has it: "length" is "tower_0/rnn/length"; so is one that was
    made a Python name, "x_input" for "tower_0/X_input".

    Args:
      plan: of the lift.
      specs: the port's inputs.
      settings: {input: value} of the old graph's scalar inputs that are given a value for the whole run.
      own_step: whether the port's step is code, which may gather the rows of what the old graph takes whole.

    Returns:
      {input of the port: input of the old graph}.

    Raises:
      InputError: an input is on one side only, or is not a batch of examples.
    """
    entries = plan.inputs + plan.common
    old = {entry.name: entry for entry in entries if entry.kind != "setting"}
    wholes = [name for name, entry in old.items() if part_of_whole(entry, entries) and name not in specs]
    old = {name: entry for name, entry in old.items() if name not in wholes}  # of which the port has the parts
    rows = rows_of_all(plan) if own_step else 0
    found = _inputs_of_port(old, specs, rows)
    problems = [_difference(old[other], name, specs[name], rows) for name, other in found.items()]
    problems += [f"the old graph has no {name!r}" for name in specs if name not in found]
    problems += [f"the port has no {name!r}" for name in old if name not in found.values()]
    problems += [
        f"{entry.name!r} is a scalar that the old graph is fed with: give its value by --settings={entry.name}=..."
        for entry in scalar_inputs(plan)
        if entry.name not in settings
    ]
    if any(problems):
        raise InputError("--against: inputs of the port and the old graph differ: " + "; ".join(filter(None, problems)))
    return found


def _inputs_of_port(old: Mapping[str, Input], specs: Mapping[str, InputSpec], rows: int | None) -> dict[str, str]:
    """Returns {input of the port: input of the old graph} for those with a matching name or an unambiguous shape.

    Args:
      old: the old graph's inputs.
      specs: the port's inputs.
      rows: examples of all towers, for inputs that a step deals out itself; None if the graph takes any number.

    Returns:
      The names; an input is left out if none or several could be it.
    """
    found = {name: name for name in specs if name in old}
    for name in [name for name in specs if name not in found]:
        ends = [other for other in old if other not in found.values() and other.rpartition("/")[2] == name]
        free = [other for other in old if other not in found.values() and _fits(old[other], specs[name], rows)]
        same = [other for other in free if identifier(other) == name]
        if len(ends) == 1 or len(same) == 1:
            found[name] = (ends if len(ends) == 1 else same)[0]
    for name in [name for name in specs if name not in found]:
        alike = [other for other in old if other not in found.values() and _fits(old[other], specs[name], rows)]
        rivals = [other for other in specs if other not in found and alike and _fits(old[alike[0]], specs[other], rows)]
        if len(alike) == len(rivals) == 1:
            found[name] = alike[0]
    return found


def rows_of_all(plan: Plan) -> int | None:
    """Returns the number of examples of all towers; None if the graph takes any."""
    return None if plan.batch is None else plan.batch * plan.towers


def with_port_shapes(entry: Input, spec: InputSpec, rows_of_all: int | None = 0) -> Input:
    """Returns an input of the old graph with the port's sizes where the graph leaves them open.

    Args:
      entry: the input.
      spec: of the port's.
      rows_of_all: examples of all towers; None if the graph takes any number.

    Returns:
      The input.
    """
    limits = [limit for limit in (entry.limit, spec.classes) if limit]
    if entry.is_copied and not entry.is_dealt_as(spec.shape, rows_of_all):
        return dataclasses.replace(entry, shape=list(spec.shape), example=[], limit=min(limits, default=0))
    rows = entry.shape[0] if entry.shape else None
    return dataclasses.replace(entry, shape=[rows, *spec.shape], example=[], limit=min(limits, default=0))


def _fits(entry: Input, spec: InputSpec, rows: int | None) -> bool:
    """Returns whether an input of the old graph can be one of the port: their examples have the same shape and kind."""
    if (spec.kind == "float") != entry.dtype.startswith(("float", "double", "half", "bfloat")):
        return False
    if entry.is_dealt_as(spec.shape, rows):
        return True
    sizes = None if entry.shape is None else entry.shape if entry.is_copied else entry.shape[1:]
    same_rank = sizes is None or len(sizes) == len(spec.shape)
    return same_rank and all(size in (None, other) for size, other in zip(sizes or (), spec.shape))


def _difference(entry: Input, name: str, spec: InputSpec, rows: int | None) -> str:
    """Returns how an input of the old graph cannot be the port's, or ""."""
    if not entry.has_examples and not entry.is_copied and not entry.is_dealt_as(spec.shape, rows):
        return f"{entry.name!r} is no batch of examples ({entry.kind}), which a workload's inputs are"
    if not _fits(entry, spec, rows):
        return f"{name!r} is {spec.kind} {list(spec.shape)} and in the old graph {entry.dtype} {entry.shape}"
    return ""
