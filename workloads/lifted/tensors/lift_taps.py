"""Taps of a lift: the outputs of a forward pass's ops that are recorded on each replica, with the gradients to them.

A tap is named after the first tower's op, without the tower's own scope: "conv1/Relu" is "tower_0/conv1/Relu" on the
first tower and "tower_1/conv1/Relu" on the second. See `workloads.taps`.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, DefaultDict, Dict, List, NamedTuple, Optional, Sequence, Set

from workloads.lifted.graph import TensorId
from workloads.lifted.graph import parse_tensor_name as parse
from workloads.lifted.tensors.activation_gradients import activation_gradients
from workloads.lifted.tensors.forward_pass import boundary_nodes, forward_tensors
from workloads.lifted.tensors.gradient_names import in_gradient_graphs
from workloads.lifted.tensors.tower_match import match_tower
from workloads.support.errors import require
from workloads.taps import is_tapped, unused_name

if TYPE_CHECKING:
    from workloads.lifted.plan import Phase
    from workloads.lifted.workload import LiftedWorkload

#: Names that a refusal shows.
_SHOWN = 3


class Tap(NamedTuple):
    """One tensor of a forward pass.

    Attributes:
      name: of the tap.
      tensors: for each tower, the tensor.
      gradients: for each tower, the gradient of its loss to it; empty where the graph has none.
    """

    name: str
    tensors: List[str]
    gradients: List[str]


class PhaseTaps(NamedTuple):
    """Taps of a phase.

    Attributes:
      taps: in the order of the forward pass.
      readers: {tap, or weight: the taps that are made from it without another one between}.
    """

    taps: List[Tap]
    readers: Dict[str, List[str]]

    def values(self, tower: int) -> dict[str, str]:
        """Returns {tap: tensor} of a tower."""
        return {tap.name: tap.tensors[tower] for tap in self.taps}

    def gradients(self, tower: int) -> dict[str, str]:
        """Returns {tap: gradient} of a tower."""
        return {tap.name: tap.gradients[tower] for tap in self.taps if tap.gradients}


#: The taps of a phase where taps are off.
NO_TAPS = PhaseTaps([], {})


def find_taps(workload: LiftedWorkload, patterns: Sequence[str]) -> list[PhaseTaps]:
    """Finds the taps of each phase.

    Args:
      workload: the lift.
      patterns: of the wanted taps' names, or of their ops' names in any tower; see `workloads.taps.is_tapped`.

    Returns:
      one entry for each phase; without patterns all are empty.

    Raises:
      InputError: no phase has such a tap.
    """
    if not patterns:
        return [NO_TAPS for _ in workload.plan.phases]
    found = [_taps_of_phase(workload, phase) for phase in workload.plan.phases]
    known = [tap.name for taps in found for tap in taps]
    expected = "is no op of the towers' forward passes" + (f", as {', '.join(known[-_SHOWN:])}" if known else "")
    wanted = [[tap for tap in taps if _is_wanted(tap, patterns)] for taps in found]
    require(any(wanted), "--taps", ",".join(patterns), expected)
    return [PhaseTaps(taps, _readers(workload, taps)) for taps in wanted]


def _is_wanted(tap: Tap, patterns: Sequence[str]) -> bool:
    names = [tap.name, *(parse(tensor).node for tensor in tap.tensors)]
    return any(is_tapped(name, patterns) for name in names)


def _taps_of_phase(workload: LiftedWorkload, phase: Phase) -> List[Tap]:
    """Returns all taps of a phase: those tensors of the first tower's forward pass that all towers have."""
    plan, graph = workload.plan, workload.graph
    losses = [row for row in [phase.losses, *phase.other_losses] if row]
    losses += [list(map(str, row)) for row in phase.early if None not in row and not in_gradient_graphs(map(str, row))]
    returns = phase.returns[0] if phase.returns else []
    first = forward_tensors(plan, graph, [row[0] for row in losses], returns)
    weights = phase.raw if phase.raw and all(phase.raw) else phase.gradients
    start = boundary_nodes(plan, returns)
    rows = [{tensor: tensor for tensor in first}]
    for tower in range(1, plan.towers):
        ends = [(row[0], row[tower]) for row in losses]
        ends += [(name, weights[tower][weight]) for weight, name in weights[0].items() if weight in weights[tower]]
        rows.append(match_tower(graph, [(parse(one), parse(other)) for one, other in ends], start))
    shared = [tensor for tensor in first if all(tensor in row for row in rows)]
    gradients = [
        activation_gradients(graph, [row[tensor] for tensor in shared], weights[tower].values())
        for tower, row in enumerate(rows)
    ]
    taps = []
    for name, place in _names([[row[tensor] for row in rows] for tensor in shared]).items():
        own = [row[shared[place]] for row in rows]
        known = [found[tensor] for found, tensor in zip(gradients, own) if tensor in found]
        taps.append(Tap(name, [tensor.name for tensor in own], known if len(known) == len(own) else []))
    return taps


def _names(rows: Sequence[Sequence[TensorId]]) -> Dict[str, int]:
    """Returns {tap's name: position of its row}: the first tower's op, without the tower's own scope."""
    place = _tower_scope(rows)
    found: Dict[str, int] = collections.OrderedDict()
    for position, row in enumerate(rows):
        parts = row[0].node.split("/")
        if place is not None and _is_own(row):
            del parts[place]
        name = "/".join(parts)
        found[unused_name(f"{name}:{row[0].output}" if row[0].output else name, found)] = position
    return found


def _tower_scope(rows: Sequence[Sequence[TensorId]]) -> Optional[int]:
    """Returns the place of the scope that all of a tower's own ops are in, among the parts of their names; or None.

    >>> def row(*names):
    ...     return [TensorId(name, 0) for name in names]
    >>> _tower_scope([row("model/tower_0/a", "model/tower_1/a"), row("model/tower_0/b", "model/tower_1/b")])
    1
    >>> _tower_scope([row("a/x", "a_1/x"), row("b/x", "b_1/x")])
    """
    found = set()
    for row in filter(_is_own, rows):
        parts = list(zip(*[tensor.node.split("/")[:-1] for tensor in row]))
        place = next((i for i, names in enumerate(parts) if len(set(names)) == len(row)), None)
        found.add((place, parts[place] if place is not None else ()))
    return found.pop()[0] if len(found) == 1 else None


def _is_own(row: Sequence[TensorId]) -> bool:
    """Returns whether each tower has a tensor of its own."""
    return len(set(row)) == len(row) > 1


def _readers(workload: LiftedWorkload, taps: Sequence[Tap]) -> Dict[str, List[str]]:
    """Returns {tap, or weight: taps made from it} in the first tower."""
    graph = workload.graph
    named = {parse(tensor): variable for tensor, variable in workload.plan.aliases.items()}
    named.update((parse(tap.tensors[0]), tap.name) for tap in taps)
    taps_of: DefaultDict[str, List[str]] = collections.defaultdict(list)
    for tap in taps:
        taps_of[parse(tap.tensors[0]).node].append(tap.name)
    made_from: Dict[str, Set[str]] = {}
    readers: Dict[str, List[str]] = collections.OrderedDict()
    for node in graph.order(graph.ancestors(taps_of, boundary_nodes(workload.plan), controls=False)):
        sources: Set[str] = set()
        for tensor in graph.inputs(node):
            sources |= {named[tensor]} if tensor in named else made_from.get(tensor.node, set())
        made_from[node] = sources
        for source in sorted(sources):
            readers.setdefault(source, []).extend(taps_of.get(node, []))
    return {source: names for source, names in readers.items() if names}
