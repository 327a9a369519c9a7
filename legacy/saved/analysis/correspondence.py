"""Correspondence between towers: the inputs and the random ops of one tower and those of each other tower."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.division import tensor_matching
from legacy.saved.analysis.division.own_parts import find_own_parts
from legacy.saved.analysis.other_numbers.unlike_towers import Comparison, Further, further_towers
from legacy.saved.graph import loops, op_types
from legacy.saved.graph.differentiation import differentiated, without_zero
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.pieces.noise import TWINS
from workloads.lifted.plan import Effect, Noise, Phase, Variable, effects_by_variable
from workloads.lifted.plan.records import OwnParts

if TYPE_CHECKING:
    from legacy.saved.analysis.phase_parts import PhaseParts


class Correspondence(NamedTuple):
    """Corresponding inputs and random ops of all towers.

    Attributes:
      rows: for each input, its tensors: one a tower.
      common: tensors that bring data in for all towers.
      noise: random ops of the towers.
      common_noise: random ops whose numbers are drawn once for all towers.
      own_parts: what is cut into parts once for all, such as a state of all examples, and tower k takes part k.
      own_variables: (variable of the first tower, the one that another tower reads in its place).
      differences: where towers are not the same, in words.
      further: the towers that there would be besides.
    """

    rows: list[list[TensorId]]
    common: list[TensorId]
    noise: list[Noise]
    common_noise: list[Noise]
    own_parts: list[OwnParts]
    own_variables: list[tuple[str, str]]
    differences: list[str]
    further: Further


def find_correspondence(context: Context, phases: Sequence[PhaseParts]) -> Correspondence:
    """Returns the corresponding inputs and random ops of the towers in some train ops.

    Every other tower is matched with the first one, from their losses and from the tensors that leave them.
    """
    count = context.towers.count
    cuts = [list(dict.fromkeys(t for phase in phases for t in phase.divided.cuts[k])) for k in range(count)]
    common = list(dict.fromkeys(tensor for phase in phases for tensor in phase.divided.common_cuts))
    matches = [match_towers(context, phases, (0, tower), cuts) for tower in range(1, count)]
    drawn = set().union(*[context.random & _needed(context, phase) for phase in phases])
    computed = set().union(*[phase.divided.tower_nodes for phase in phases])
    noise, common_noise = _noise_entries(context, drawn & computed, drawn - computed, matches)
    differences = [
        f"tower 0 and tower {tower}: {text}" for tower, match in enumerate(matches, 1) for text in match.differences
    ]
    parts = find_own_parts(context.graph, context.imported, context.state.aliases, [match.parts for match in matches])
    rows = _input_rows(context, cuts, matches)
    own = list(dict.fromkeys(pair for match in matches for pair in _own_variables(context, match)))
    further = _further(context, phases, cuts, matches)
    if parts.others:
        further = Further(unknown=parts.others[0].partition(": ")[2])
    return Correspondence(rows, common, noise, common_noise, parts.own, own, differences + parts.others, further)


def _further(
    context: Context,
    phases: Sequence[PhaseParts],
    cuts: Sequence[Sequence[TensorId]],
    matches: Sequence[tensor_matching.TensorMatch],
) -> Further:
    """Finds the towers that there would be besides; see `further_towers`."""
    if not any(match.differences for match in matches):
        return Further()
    graph, labels = context.graph, {}
    for phase in phases:
        labels.update(phase.divided.tower_nodes)
    variables = set(graph.of_types(*op_types.VARIABLES))
    changing = context.data | graph.descendants(variables, controls=False)
    entering = {tensor for tower in cuts for tensor in tower}
    comparison = Comparison(graph, changing, labels, entering)
    return further_towers(
        matches, lambda one, two: match_towers(context, phases, (one, two), cuts), comparison.extra, graph
    )


def _own_variables(context: Context, match: tensor_matching.TensorMatch) -> Iterator[tuple[str, str]]:
    """Yields the variables of the first tower in whose place another one reads its own, with these."""
    variables = context.state.variables
    for other, first in match.firsts.items():
        if first.node != other.node and first.node in variables and other.node in variables:
            yield first.node, other.node


def not_kept_alike(
    context: Context, own: Sequence[tuple[str, str]], variables: Sequence[Variable], phases: Sequence[Phase]
) -> list[str]:
    """Finds variables of the first tower that need not hold what other towers' have: a step changes them otherwise.

    A tower's own state is none of these: another number of replicas keeps one for each.

    Args:
      context: the graph's.
      own: (variable of the first tower, the one that another tower reads in its place).
      variables: of the step.
      phases: its train ops.

    Returns:
      Their names.
    """
    states = {variable.name for variable in variables if variable.role == "state"}
    changes = [effects_by_variable(phase.effects) for phase in phases]
    return list(
        dict.fromkeys(
            first
            for first, other in own
            if not {first, other} <= states and not _are_changed_alike(context, changes, first, other)
        )
    )


def _are_changed_alike(
    context: Context, changes: Sequence[Mapping[str, Sequence[Effect]]], first: str, other: str
) -> bool:
    """Whether every train op changes two variables by the same ops, with the same constants, and one of them does."""
    for of_phase in changes:
        effects, others = of_phase.get(first, ()), of_phase.get(other, ())
        pairs = [(TensorId(one.node, 0), TensorId(two.node, 0)) for one, two in zip(effects, others)]
        if len(effects) != len(others) or tensor_matching.match_tensors(context.graph, pairs, (), ()).differences:
            return False
    return any(first in of_phase for of_phase in changes)


def match_towers(
    context: Context, phases: Sequence[PhaseParts], towers: tuple[int, int], cuts: Sequence[Sequence[TensorId]]
) -> tensor_matching.TensorMatch:
    """Matches two towers, mostly the first and another one, from their crossings and losses.

    Args:
      context: the graph's.
      phases: train ops.
      towers: their numbers.
      cuts: for each tower, the tensors that bring data into it.

    Returns:
      The match.
    """
    corresponding = []
    one, tower = towers
    entering = set(cuts[one]) | set(cuts[tower])
    equal = tensor_matching.EqualTensors(context.graph, entering)
    differences, of_losses = [], []
    for phase in phases:
        rows = [row for row in phase.divided.crossings.values() if one in row and tower in row]
        # Python's sum() adds 0 to the first tower's gradient.
        corresponding += [
            (without_zero(context.graph, row[one]), without_zero(context.graph, row[tower])) for row in rows
        ]
        if phase.losses:
            losses = (phase.losses[one], phase.losses[tower])
            whole = _whole_loss(context, phase, *losses)
            pairs = _matching_losses(context.graph, *losses, equal)
            if whole is not None:
                pairs = pairs[1:] or pairs
                text = tensor_matching.difference(context.graph, losses[0].node, whole)
                differences.append(f"{text}, which contains what another tower computes")
            corresponding += pairs
            of_losses += pairs
    alone = tensor_matching.match_tensors(context.graph, of_losses, entering, context.random)
    of_both = {other for other, first in alone.firsts.items() if other == first}
    match = tensor_matching.match_tensors(context.graph, corresponding, entering, context.random, of_both)
    match.differences[:0] = differences
    return match


def _whole_loss(context: Context, phase: PhaseParts, first: TensorId, other: TensorId) -> str | None:
    """Returns the loss of another tower than the first where what the analysis has for it is only its own term.

    A sum with terms of several towers belongs to none of them; the first tower's loss has no such term.
    """
    graph, towers = context.graph, context.towers
    targets = differentiated(graph, phase.members)
    if first.node not in {without_zero(graph, TensorId(target, 0)).node for target in targets}:
        return None
    shared = [target for target in targets if towers.is_shared(target)]
    return next((target for target in shared if other.node in graph.ancestors([target], controls=False)), None)


def _matching_losses(
    graph: Graph, first: TensorId, other: TensorId, equal: tensor_matching.EqualTensors
) -> list[tuple[TensorId, TensorId]]:
    """Returns the losses of two towers; where one is a sum with the other's loss in it, also the term that equals it.

    Where towers add what they have to one collection, the first one's loss is its sum, and a later one's its own term.
    """
    for sum_of, alone in ((first, other), (other, first)):
        terms = graph.inputs(sum_of.node) if graph.type(sum_of.node) in op_types.ADDITIONS else []
        term = next((term for term in terms if equal.are_equal(term, alone)), None)
        if term is not None:
            return [(first, other), (term, alone) if sum_of is first else (alone, term)]
    return [(first, other)]


def _input_rows(
    context: Context, cuts: Sequence[Sequence[TensorId]], matches: Sequence[tensor_matching.TensorMatch]
) -> list[list[TensorId]]:
    """Returns the towers' corresponding inputs.

    An input without a match gets the first unmatched tensor of the same dtype and shape, or the first tower's own
    tensor. Inputs that only another tower has make rows of their own, the same tensor for all.
    """
    rows = [[first] for first in (cuts[0] if cuts else ())]
    extra: list[list[TensorId]] = []
    for tower, match in enumerate(matches, 1):
        matched = [match.cuts.get(row[0]) for row in rows]
        left = [tensor for tensor in cuts[tower] if tensor not in matched and [tensor] * len(cuts) not in extra]
        for row, tensor in zip(rows, matched):
            if tensor is None:
                fits = [other for other in left if context.signature(other) == context.signature(row[0])]
                tensor = fits[0] if fits else row[0]
                left = [other for other in left if other != tensor]
            row.append(tensor)
        extra += [[tensor] * len(cuts) for tensor in left]
    return rows + extra


def _needed(context: Context, phase: PhaseParts) -> set[str]:
    """Returns the nodes that a train op's results depend on, without what is upstream of the towers' inputs.

    A `cond` whose branches take no data, such as those of constants or of random numbers, depends on its predicate by
    control edges only.
    """
    graph = context.graph
    stop = {name for tower in phase.divided.cuts for name, _ in tower} | {n for n, _ in phase.divided.common_cuts}
    ends = set(phase.order.effects) | {name for name, _ in phase.losses}
    needed: set[str] = set()
    while ends - needed:
        needed |= graph.ancestors(ends, stop, controls=False)
        ends = {choice for name in needed - stop for choice in graph.chosen_by(name)}
    return needed - (stop - set(phase.divided.tower_nodes))


def _noise_entries(
    context: Context,
    drawn: Collection[str],
    drawn_once: Collection[str],
    matches: Sequence[tensor_matching.TensorMatch],
) -> tuple[list[Noise], list[Noise]]:
    """Returns the `Noise` of the towers, and that of random ops that belong to no tower.

    Args:
      context: the graph's.
      drawn: random ops of the towers' own functions.
      drawn_once: those of what is computed once, such as noise that is added to the only tower's gradients.
      matches: the match of each other tower with the first.
    """
    tower_of = context.towers.tower_of
    own = [node for node in sorted(drawn) if tower_of(node) == 0]
    rows: list[list[str | None]] = [[node, *(match.random.get(node) for match in matches)] for node in own]
    covered = {node for row in rows for node in row}
    for node in sorted(drawn):
        if tower_of(node) is not None and node not in covered:
            rows.append([node if tower == tower_of(node) else None for tower in range(context.towers.count)])
    once = {node for node in drawn if tower_of(node) is None} | (set(drawn_once) - covered)
    common: list[list[str | None]] = [[node] for node in sorted(once)]
    return [_noise(context, row) for row in rows], [_noise(context, row) for row in common]


def _noise(context: Context, row: list[str | None]) -> Noise:
    """Returns the `Noise` of corresponding random nodes: keyed if they have a stateless twin and a key each turn."""
    nodes = [node for node in row if node is not None]
    op_type = context.graph.type(nodes[0])
    in_loop = any(node in context.graph.frames() for node in nodes)
    found = {node: loops.frame_and_counter(context.graph, context.imported, node) for node in nodes if in_loop}
    counted = {node: loop for node, loop in found.items() if loop is not None}
    is_keyed = op_type in TWINS and len(counted) == len(found)
    return Noise(nodes[0], op_type, "keyed" if is_keyed else "seeded", row, in_loop, counted if is_keyed else {})
