"""Rows of several lookups in each tower, whose gradients one loss of all towers joins at once.

`tf.gradients` joins the rows of all lookups of a table in the order in which it comes to them, such as the first lookup
of each tower, and then the second one of each. Each tower's rows are joined first here, as where it had differentiated
a loss of its own, so that other numbers of replicas join theirs alike. Sums of an index's rows may round differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from legacy.saved.analysis.division.own_sizes import device_of_tower
from legacy.saved.analysis.division.parts import StepParts
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.joins import inputs_of_join, join_of, joined_parts
from workloads.lifted.graph import Graph
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.graph.tensor_names import forget_placement, input_text
from workloads.lifted.tensors import gradient_names

#: The sentence of a page on such rows.
NOTE_ON_ROWS = (
    "the old graph joins the rows of all towers' lookups of a table at once; in a lift, each tower's are joined first, "
    "so that sums of an index's rows may round differently"
)


def with_rows_by_tower(graph: Graph, imported: ImportedGraph, steps: Sequence[StepParts]) -> Graph | None:
    """Joins the rows of each tower's lookups before those of all towers are joined.

    Args:
      graph: the cut graph.
      imported: the same, as TensorFlow has it.
      steps: the divided train ops.

    Returns:
      The graph; None if no such rows are joined.
    """
    result, changed = GraphCopy(graph), False
    for step in [step for step in steps if len(step.cuts) > 1]:
        joins: dict[tuple[str, ...], list[str]] = {}
        for name in [name for name in graph.nodes if join_of(graph, name) and name not in step.tower_nodes]:
            if _joins_several_of_each(graph, name, step.tower_nodes, len(step.cuts)):
                joins.setdefault(_lookups(graph, name), []).append(name)
        for rows in joins.values():  # the values and the indices of the same lookups
            kinds = {imported.dtype(name).startswith("int") for name in rows}
            if len(rows) == len(kinds) == len((True, False)):
                for name in rows:
                    _join_by_tower(graph, result, name, step)
                changed = True
    return result.graph() if changed else None


def _joins_several_of_each(graph: Graph, join: str, owners: Mapping[str, int], towers: int) -> bool:
    """Whether the inputs of a join are gradients, several of each tower, and as many of one as of another.

    Args:
      graph: the cut graph.
      join: name of the node.
      owners: {node: the tower that computes it}.
      towers: number of towers.
    """
    parts = [tensor.node for tensor in joined_parts(graph, join)]
    if not all(name in owners and gradient_names.is_gradient_op(name) for name in parts):
        return False
    of_parts = [owners[name] for name in parts]
    counts = {of_parts.count(tower) for tower in range(towers)}
    return len(counts) == 1 and counts != {1}


def _lookups(graph: Graph, join: str) -> tuple[str, ...]:
    """The name scopes in which the rows that a join takes are made: those of the lookups' gradients."""
    return tuple(tensor.node.rpartition("/")[0] for tensor in joined_parts(graph, join))


def _join_by_tower(graph: Graph, result: GraphCopy, join: str, step: StepParts) -> None:
    """Gives a join one input of each tower, in which that tower's are joined.

    Args:
      graph: the cut graph.
      result: the copy of it that is changed.
      join: name of the node.
      step: the train op.
    """
    parts, count = joined_parts(graph, join), len(graph.inputs(join))
    texts = []
    for tower in range(len(step.cuts)):
        own = [part for part in parts if step.tower_nodes[part.node] == tower]
        node = result.add_copy(graph.nodes[join], f"{own[0].node}/of_tower_{tower}")  # in the tower's own name scope
        forget_placement(node)
        node.device = device_of_tower(graph, step, tower)
        node.input[:] = inputs_of_join(graph, join, list(map(input_text, own)))
        node.attr["N"].i = len(own)
        texts.append(node.name)
    result.nodes[join].input[:count] = inputs_of_join(graph, join, texts)
    result.nodes[join].attr["N"].i = len(texts)
