"""Results of all towers that a train op uses: for a factor on each tower's loss, as one over all words, or updates."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Collection, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from legacy.saved.analysis.reduction.multipliers import factors_on_sum
from legacy.saved.graph.imported import ImportedGraph, imported_graph
from legacy.source.basics.cut import cut_part
from legacy.source.basics.expressions import Definition, Expression, Infix, Literal, Name
from legacy.source.basics.forward import Forward
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.recovery import Recovery
from legacy.source.step.input_names import wholes_outside
from legacy.source.update.changes.place import names_of_variables
from legacy.source.update.changes.wave_lines import own_lines
from legacy.source.update.reduced_sums import names_of_towers, with_reduced_sums
from workloads.lifted.averaging import RECIPROCAL, division_rounds, form_of
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.pieces.piece import Fetch

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Combine, Effect, Phase, Plan


#: Names in the text of what is made of all replicas' losses.
_OF_LOSSES = {"mean": "mean_loss", "sum": "total_loss", "concat": "all_losses"}


class Reduced(NamedTuple):
    """A result of each replica that the update takes the mean, the sum or the concatenation of.

    Attributes:
      name: of that in the text.
      part: name of a replica's own.
      kind: "mean", "sum" or "concat".
    """

    name: str
    part: str
    kind: str


class SharedFactor(NamedTuple):
    """Factor on a replica's loss before it is differentiated.

    Attributes:
      parts: names of what each replica computes for it, or for the update, beside its loss.
      tensors: {tensor of the old graph: expression} of all replicas' parts, and of what is reduced of them.
      lines: of the text, which end with the factor, `factor`; none where losses stand for themselves.
      of_all: lines of the function of all towers' losses that the factor is a derivative of; none where it is computed.
      with_others: lines of the function of what is minimized, where a tower's loss contains other towers' results.
      further: number of the first parts by which the function of all is differentiated, too; `factors` are then those
        on the loss and on these parts.
      reduced: what the update takes the mean, the sum or the concatenation of.
      gathered: those of `parts` that are not only reduced; None for all.
    """

    parts: List[str]
    tensors: Dict[str, Expression]
    lines: List[str]
    of_all: Sequence[str] = ()
    with_others: Sequence[str] = ()
    further: int = 0
    reduced: Sequence[Reduced] = ()
    gathered: Optional[Collection[str]] = None

    def gathering(self, lines: Sequence[str]) -> SharedFactor:
        """Returns the factor where lines of the update use results of each tower, which are then gathered, too."""
        used = [part for part in self.parts if any(re.search(rf"\b{part}s\b", line) for line in lines)]
        return self if self.gathered is None else self._replace(gathered=[*self.gathered, *used])

    @property
    def needed_of_all(self) -> List[str]:
        """Those of `parts` that each replica needs of every other one, and not only their mean or sum."""
        return [part for part in self.parts if self.gathered is None or part in self.gathered]


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
    tensors: Dict[str, Expression] = {
        str(tensor): name
        for part, row in zip(parts, phase.early)
        for tensor, name in zip(row, names_of_towers(part, len(row)))
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
    if any(one != found[0] for one in found):
        raise refused
    lines, reduced = found[0]
    gathered = [part for part in parts if part not in reduced]
    return SharedFactor(parts, tensors, lines, reduced=[Reduced(p, p, "sum") for p in reduced], gathered=gathered)


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

    found = [*phase.crossings, *_rows_of_twins(plan, phase), *_rows_of_inputs(plan, phase)]
    rows = [row for row in found if None not in row and not from_known(str(row[0]))]
    used = _used(plan, graph, phase, effects, [*given, *(str(tensor) for row in rows for tensor in row)])
    results = [row for row in rows if used & set(row) and row not in phase.early]
    return dataclasses.replace(phase, early=[*phase.early, *results])


def with_reduced(
    plan: Plan, graph: Graph, phase: Phase, effects: Sequence[Effect], given: Iterable[str]
) -> Tuple[Phase, SharedFactor]:
    """Finds what changes of variables need of all towers, some of it as a mean or sum alone, such as of their losses.

    Args:
      plan: of the lift.
      graph: of the lift, in which each tower's gradients follow from its own results.
      phase: the train op.
      effects: the changes.
      given: tensors that are known.

    Returns:
      The train op, whose `early` has corresponding tensors that all towers have, and their names in the text.
    """
    usable = _reducible(graph, phase.results)
    phase = with_results(plan, graph, phase, effects, [*given, *usable])
    if not usable:
        return phase, find_shared_factor(plan, graph, phase)
    used = _used(plan, graph, phase, effects, [*given, *usable, *(str(t) for row in phase.early for t in row)])
    rows = list(phase.early)
    wanted: Dict[str, Tuple[str, str]] = {}
    for tensor in [tensor for tensor in usable if tensor in used]:
        one = usable[tensor][0]
        row: List[Optional[str]] = [tower[0] for tower in one.parts]
        rows += [row] if row not in [*rows, phase.losses] else []
        part = "loss" if row == phase.losses else part_names(len(rows))[rows.index(row)]
        wanted[tensor] = (part, "mean" if one.divided else one.kind)
    reduced = _with_names(list(dict.fromkeys(wanted.values())))
    tensors: Dict[str, Expression] = {}
    for tensor, own in wanted.items():
        made, factor = Name(reduced[own].name), usable[tensor][1]
        tensors[tensor] = made if factor == 1.0 else Infix("*", made, Literal(factor))
    gathered = part_names(len(phase.early))
    shared = find_shared_factor(plan, graph, dataclasses.replace(phase, early=rows))
    of_each = {tensor: one for tensor, one in shared.tensors.items() if any(tensor in row for row in phase.early)}
    return dataclasses.replace(phase, early=rows), shared._replace(
        tensors={**of_each, **tensors}, reduced=list(reduced.values()), gathered=gathered
    )


def _with_names(wanted: Sequence[Tuple[str, str]]) -> Dict[Tuple[str, str], Reduced]:
    """Returns {(part, kind): how it is reduced}: under the part's own name, if it is reduced in one way alone."""
    named = {}
    for part, kind in wanted:
        alone = [other for other, _ in wanted].count(part) == 1
        name = _OF_LOSSES[kind] if part == "loss" else part if alone else f"{kind}_of_{part}"
        named[part, kind] = Reduced(name, part, kind)
    return named


def _reducible(graph: Graph, results: Sequence[Combine]) -> Dict[str, Tuple[Combine, float]]:
    """Returns {tensor: (its combining, factor on it)} of the combined results that an all-reduce makes."""
    imported = imported_graph(graph) if results else None
    factors = [(one, _multiplier(graph, imported, one)) for one in results if imported is not None]
    return {one.tensor: (one, factor) for one, factor in factors if factor is not None}


def _multiplier(graph: Graph, imported: ImportedGraph, combine: Combine) -> Optional[float]:
    """Returns the factor on the towers' combined results; None where an all-reduce rounds in another way."""
    towers = len(combine.parts)
    if combine.kind not in _OF_LOSSES or form_of(graph, combine, towers) == RECIPROCAL:
        return None
    if not combine.divided:
        return 1.0
    factors = [factor.value for factor in factors_on_sum(graph, imported, combine, towers)]
    if len(factors) != 2 or 1.0 / towers not in factors or division_rounds(towers):
        return None
    factors.remove(1.0 / towers)
    return factors[0]


def _used(plan: Plan, graph: Graph, phase: Phase, effects: Sequence[Effect], cuts: Iterable[str]) -> Set[str]:
    """Returns those of some tensors that changes of variables are computed from."""
    inputs = [tensor for entry in plan.inputs + plan.common for tensor in entry.tensors]
    fetches = [Fetch(value, effect.node) for effect in effects for value in effect.values]
    return {str(feed.key) for feed in cut_part(plan, graph, fetches, [*cuts, *inputs], phase.versions).piece.feeds}


def _rows_of_twins(plan: Plan, phase: Phase) -> List[List[Optional[str]]]:
    """Returns rows of the tensors that leave one tower each, as what a tower adds to a variable of its own."""
    alone = {tensor: tower for row in phase.crossings for tower, tensor in enumerate(row) if tensor in phase.twins}
    rows: Dict[str, List[Optional[str]]] = {}
    for tensor, tower in alone.items():
        first = phase.twins[str(tensor)]
        rows.setdefault(first, [first, *[None] * (plan.towers - 1)])[tower] = tensor
    return list(rows.values())


def _rows_of_inputs(plan: Plan, phase: Phase) -> List[List[Optional[str]]]:
    """Returns rows of the inputs of which one tower's leaves it, as where the update runs the model on its batch."""
    alone = {str(tensor) for row in phase.crossings if None in row for tensor in row if tensor is not None}
    each = [list(entry.tensors) for entry in plan.inputs if len(set(entry.tensors)) == plan.towers]
    return [list(row) for row in each if alone & set(row)]


def _factor_lines(
    plan: Plan, graph: Graph, phase: Phase, tensor: str, tensors: Dict[str, Expression]
) -> Tuple[List[str], List[str]]:
    """Returns the lines that compute what returns to one tower, and the names of the parts that they need summed up."""
    known = {**wholes_outside(plan), **tensors}
    cut = cut_part(plan, graph, [tensor], list(known), phase.versions)
    others = [str(feed.key) for feed in cut.piece.feeds if str(feed.key) not in known and feed.kind != "read"]
    if others:
        raise Unwritten(f"towers: {others[0]!r} is in the loss of all towers")
    recovery = Recovery(Forward(cut, plan), names_of_variables(plan, known))
    result = recovery.expression_of(cut.fetches[0] if ":" in cut.fetches[0] else cut.fetches[0] + ":0")
    definitions = [*recovery.ordered([result]), Definition((), result)]
    definitions, reduced = with_reduced_sums(definitions, part_names(len(phase.early)), plan.towers)
    *lines, last = own_lines(definitions, plan.towers, {}, 4)
    if last.startswith("    )"):
        raise Unwritten("towers: a factor on their losses is too long for a line")
    return [*lines, "    factor = " + last.strip()], reduced
