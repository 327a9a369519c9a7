"""Rows of a weight that the old program sets to constants before it looks them up, such as that of the padding.

Its loss is differentiated by the weight with these rows set. So a text sets them first, in the weight itself, and its
losses read the weight as it is then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Collection, Dict, List

from legacy.saved.analysis.order.equal_rows import SETS_ROWS, set_equal_rows
from legacy.saved.graph.imported import imported_graph
from legacy.source.lookups.variables_taken import variable_behind
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy

if TYPE_CHECKING:
    from workloads.lifted.plan import Effect, Phase, Plan

#: Type of the op that a source has in place of the one that computes a weight with its rows set.
_COPY = "Identity"


def with_rows_set_before(plan: Plan, graph: Graph) -> Graph:
    """Returns a lift's graph in which losses read such a weight itself.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      The graph; the same one if no rows are set to constants before all that uses their weight.
    """
    made: Dict[str, str] = {}
    for phase in plan.phases:
        for effects in _sets_of_constants(graph, phase).values():
            own = {_changed(effect): f"{effect.node}/before" for effect in effects}
            if not _is_read_by_others(plan, graph, effects[0].writes[0], [*own, *own.values()]):
                made.update(own)
    if not made:
        return graph
    result = GraphCopy(graph)
    for changed, before in made.items():
        node = result.nodes[changed]
        dtype = node.attr["T"].type
        node.Clear()
        node.name, node.op, node.device = changed, _COPY, result.nodes[before].device
        node.input.append(before)
        node.attr["T"].type = dtype
    return result.graph()


def rows_set_before(graph: Graph, phase: Phase) -> Dict[str, List[Effect]]:
    """Finds the changes that set rows before a phase's losses read them.

    Args:
      graph: by `with_rows_set_before`.
      phase: the train op.

    Returns:
      {weight: its changes, of which any one is all}.
    """
    found = _sets_of_constants(graph, phase).items()
    return {weight: own for weight, own in found if all(graph.type(_changed(effect)) == _COPY for effect in own)}


def _changed(effect: Effect) -> str:
    """Returns the name that a lift gives the weight with its rows set."""
    return f"{effect.node}/changed"


def _sets_of_constants(graph: Graph, phase: Phase) -> Dict[str, List[Effect]]:
    """Returns {weight: changes of a phase that set rows of it to constants}; all set the same ones."""
    imported = imported_graph(graph)
    found: Dict[str, List[Effect]] = {}
    for effect in phase.effects:
        if effect.op in SETS_ROWS and effect.condition is None and _changed(effect) in graph.nodes:
            found.setdefault(effect.writes[0], []).append(effect)
    return {weight: own for weight, own in found.items() if set_equal_rows(graph, imported, [e.node for e in own])}


def _is_read_by_others(plan: Plan, graph: Graph, weight: str, own: Collection[str]) -> bool:
    """Returns whether a loss reads a weight otherwise than by nodes of `own`, which set its rows."""
    ends = [parse_tensor_name(name).node for phase in plan.phases for name in phase.losses]
    users = graph.ancestors(ends, controls=False) - set(own)
    return any(variable_behind(graph, tensor.node) == weight for user in users for tensor in graph.inputs(user))
