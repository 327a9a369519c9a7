"""Lines of an update: its steps in order, each a wave of changes or a `cond`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, List, Mapping, Sequence, Tuple

from legacy.source.basics.expressions import BATCH_SIZE, Definition, Expression, Name
from legacy.source.basics.rendering import literal_text
from legacy.source.step.input_names import input_names
from legacy.source.update.changes.actions import actions_of
from legacy.source.update.changes.adam_of_rows import join_adam_of_rows
from legacy.source.update.changes.calls import change_call
from legacy.source.update.changes.cond_lines import cond_lines, type_of
from legacy.source.update.changes.global_norms import name_global_norms
from legacy.source.update.changes.per_weight import list_items, take_out_gradients, take_out_values
from legacy.source.update.changes.place import INDENT, Place
from legacy.source.update.changes.wave_lines import common_lines, own_lines, shared_definitions, values_lines
from legacy.source.update.changes.waves import Branches, Step, Unit, steps_of
from legacy.source.update.changes.weight_loops import Body, looped, slots_by_weight, with_name
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.pieces.piece import Fetch

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.pieces.piece import VariableVersion
    from workloads.lifted.plan import Effect, Phase, Plan


def update_lines(
    plan: Plan,
    graph: Graph,
    phase: Phase,
    effects: Sequence[Effect],
    given: Mapping[str, Expression],
    groups: Mapping[str, Sequence[str]],
    made: Mapping[str, int],
    between: Mapping[VariableVersion, Expression],
) -> List[str]:
    """Writes changes of variables, on `values` before the step and the replica's own `variables`.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      effects: the changes, in order.
      given: {tensor: expression} of what is known before the first change.
      groups: {name of a list in the text: the weights in it}.
      made: {variable: number of its changes} of those that are changed before these lines.
      between: {version of a variable: expression} of what these held between their changes, where the text keeps it.

    Returns:
      The lines of a function's body.

    Raises:
      Unwritten: a change cannot be written.
    """
    place = Place(plan, graph, phase, dict(given), groups, between=between)
    effects = join_adam_of_rows(plan, graph, phase, effects)
    actions = actions_of(plan, graph, phase, effects, place.cuts, made, between)
    return _with_batch_size(plan, _step_lines(place, steps_of(actions, plan.variables)))


def _with_batch_size(plan: Plan, lines: List[str]) -> List[str]:
    """Returns the lines of an update, after one that makes the number of a replica's examples, if they need it."""
    if not any(re.search(rf"\b{BATCH_SIZE.text}\b", line) for line in lines):
        return lines
    data = next(name for name, entry in input_names(plan).inputs.items() if entry.has_examples)
    return [f"{INDENT}{BATCH_SIZE.text} = int(batch[{literal_text(data)}].shape[0])", *lines]


def _step_lines(place: Place, steps: Sequence[Step]) -> List[str]:
    """Returns the lines of some steps."""
    lines: List[str] = []
    for step in steps:
        if isinstance(step, Branches):
            own = cond_lines(place, step, _step_lines)
            is_apart = own[0].lstrip().startswith("def ") and (lines or not place.taken)
            lines += ["", *own] if is_apart else own
        else:
            own, place = _wave_lines(place, step.units)
            lines += own
    return lines


def _wave_lines(place: Place, units: Sequence[Unit]) -> Tuple[List[str], Place]:
    """Returns the lines of a wave, and the place after them, where what several units need has its name."""
    plan, groups, margin = place.plan, place.groups, len(place.indent)
    effects = [effect for unit in units for effect in unit.effects]
    recovery, ends = place.recovered([Fetch(value, effect.node) for effect in effects for value in effect.values])
    results = iter(ends)
    calls = [[change_call(place.graph, e, [next(results) for _ in e.values]) for e in unit.effects] for unit in units]
    name_global_norms(recovery, calls)  # also those that only the values use, which are taken out
    list_items(recovery, calls, groups, computed=False)
    needed, shared = shared_definitions(recovery, calls)
    values = take_out_values(recovery, [unit.owner for unit in units], calls, shared, place.dict_name)
    slots = slots_by_weight(plan)

    def general(expression: Expression, owner: str) -> Expression:
        return with_name(expression, owner, slots.get(owner, ()))

    values = values or take_out_gradients(recovery, units, calls, general, place.dict_name)
    head, of_values = values_lines(place, recovery, values)
    name_global_norms(recovery, calls)
    list_items(recovery, calls, groups)
    needed, shared = shared_definitions(recovery, calls)
    place = place.knowing({}, list(of_values.values())) if values else place
    common, names = common_lines(place, recovery, calls, needed, shared)
    taken = {**place.reserved, **names}
    bodies = []
    for unit, own_calls in zip(units, calls):
        own = [d for d in recovery.ordered(own_calls) if d.targets[0] not in shared]
        own += [Definition((), one) for one in own_calls]
        of_any = [d._replace(expression=general(d.expression, unit.owner)) for d in own]
        in_loop = own_lines(of_any, plan.towers, taken, margin + len(INDENT))
        bodies.append(Body(unit.owner, tuple(in_loop), own_lines(own, plan.towers, taken, margin)))
    known = [tensor for tensor in names if parse_tensor_name(tensor).node in place.graph.nodes]
    after = {tensor: (Name(names[tensor]), type_of(recovery, tensor)) for tensor in known}
    return head + common + looped(place, bodies), place.knowing(after, list(names.values()))
