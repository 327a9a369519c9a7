"""Losses that depend on what all towers compute, such as a mean over all their words: a factor on each tower's loss."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, Iterable, List, NamedTuple, Optional, Sequence

from legacy.source.basics.cut import cut_part
from legacy.source.basics.expressions import Definition, Name
from legacy.source.basics.forward import Forward
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.recovery import Recovery
from legacy.source.update.place import names_of_variables
from legacy.source.update.wave_lines import own_lines
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.pieces.piece import Fetch

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Effect, Phase, Plan


class SharedFactor(NamedTuple):
    """Factor on a replica's loss before it is differentiated.

    Attributes:
      parts: names of what each replica computes for it, or for the update, beside its loss.
      tensors: {tensor of the old graph: expression} of all replicas' parts.
      lines: of the text, which end with the factor, `factor`; none where losses stand for themselves.
      of_all: lines of the function of all towers' losses that the factor is a derivative of; none where it is computed.
      with_others: lines of the function of what is minimized, where a tower's loss contains other towers' results.
    """

    parts: List[str]
    tensors: Dict[str, Name]
    lines: List[str]
    of_all: Sequence[str] = ()
    with_others: Sequence[str] = ()


def find_shared_factor(plan: Plan, graph: Graph, phase: Phase) -> SharedFactor:
    """Finds the factor on the towers' losses.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.

    Returns:
      The factor; one without lines if each tower's gradients follow from its own results.

    Raises:
      Unwritten: something else than one factor, the same for all towers, returns to them.
    """
    parts = part_names(len(phase.early))
    tensors = {
        str(tensor): Name(f"{part}s[{tower}]")
        for part, row in zip(parts, phase.early)
        for tower, tensor in enumerate(row)
    }
    if not any(phase.returns):
        return SharedFactor(parts, tensors, [])
    refused = Unwritten("towers: a tower's loss depends on all towers' results by more than a factor")
    if (
        phase.loss_scale != 1.0
        or any(len(own) != 1 for own in phase.returns)
        or any(None in row for row in phase.early)
    ):
        raise refused
    found = [_factor_lines(plan, graph, phase, own[0], tensors) for own in phase.returns]
    if any(lines != found[0] for lines in found):
        raise refused
    return SharedFactor(parts, tensors, found[0])


def part_names(count: int) -> List[str]:
    """Returns the names of the first results of a tower beside its loss, in the text."""
    return [f"part{number or ''}" for number in range(count)]


def with_results(plan: Plan, graph: Graph, phase: Phase, effects: Sequence[Effect], given: Iterable[str]) -> Phase:
    """Finds what changes of variables need of all towers beside losses and gradients, such as a mean of their inputs.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      effects: the changes.
      given: tensors that are known.

    Returns:
      The train op, whose `early` has corresponding tensors that all towers have.
    """
    known = {parse_tensor_name(tensor).node for tensor in given}

    def from_known(tensor: str) -> bool:
        node = parse_tensor_name(tensor).node
        return bool(known & {node, *graph.ancestors([node], controls=False)})

    found = [*phase.crossings, *_rows_of_twins(plan, phase)]
    rows = [row for row in found if None not in row and not from_known(str(row[0]))]
    inputs = [tensor for entry in plan.inputs + plan.common for tensor in entry.tensors]
    cuts = [*given, *inputs, *(str(tensor) for row in rows for tensor in row)]
    fetches = [Fetch(value, effect.node) for effect in effects for value in effect.values]
    used = {str(feed.key) for feed in cut_part(plan, graph, fetches, cuts, phase.versions).piece.feeds}
    results = [row for row in rows if used & set(row) and row not in phase.early]
    return dataclasses.replace(phase, early=[*phase.early, *results])


def _rows_of_twins(plan: Plan, phase: Phase) -> List[List[Optional[str]]]:
    """Returns rows of the tensors that leave one tower each, as what a tower adds to a variable of its own."""
    alone = {tensor: tower for row in phase.crossings for tower, tensor in enumerate(row) if tensor in phase.twins}
    rows: Dict[str, List[Optional[str]]] = {}
    for tensor, tower in alone.items():
        first = phase.twins[str(tensor)]
        rows.setdefault(first, [first, *[None] * (plan.towers - 1)])[tower] = tensor
    return list(rows.values())


def _factor_lines(plan: Plan, graph: Graph, phase: Phase, tensor: str, tensors: Dict[str, Name]) -> List[str]:
    """Returns the lines that compute what returns to one tower."""
    cut = cut_part(plan, graph, [tensor], list(tensors), phase.versions)
    others = [str(feed.key) for feed in cut.piece.feeds if str(feed.key) not in tensors and feed.kind != "read"]
    if others:
        raise Unwritten(f"towers: {others[0]!r} is in the loss of all towers")
    recovery = Recovery(Forward(cut, plan), names_of_variables(plan, tensors))
    result = recovery.expression_of(cut.fetches[0] if ":" in cut.fetches[0] else cut.fetches[0] + ":0")
    *lines, last = own_lines([*recovery.ordered([result]), Definition((), result)], plan.towers, {}, 4)
    if last.startswith("    )"):
        raise Unwritten("towers: a factor on their losses is too long for a line")
    return [*lines, "    factor = " + last.strip()]
