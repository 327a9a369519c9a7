"""Nodes of towers that count as data though no data flow to them: each tower computes its part by them nevertheless."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import written_variables
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph
from workloads.lifted.tensors import gradient_names


def gradients_without_data(
    graph: Graph, inputs: Collection[str], masks: Mapping[str, int], labels: Mapping[str, int]
) -> set[str]:
    """Returns the towers' gradient ops from which gradients without data are made.

    Such a gradient is that of a bias behind which a model is linear, as in the critic of a GAN: it depends on other
    weights, or on nothing, and yet each tower computes its part.

    Args:
      graph: the subgraph that a step runs.
      inputs: nodes that give update rules what no data flow to.
      masks: see `Towers`.
      labels: {node: tower number}.

    Returns:
      The nodes; none if not every tower has some.
    """
    before = graph.ancestors(inputs, controls=False)
    found = {n for n in before if n in labels and gradient_names.is_gradient_op(n) and not masks.get(n, 0)}
    return _of_every_tower(found, labels)


def numbers_of_rows(
    graph: Graph, masks: Mapping[str, int], labels: Mapping[str, int], model: Collection[str]
) -> set[str]:
    """Returns the towers' nodes that number the rows of a weight to look up without any data, as positions do.

    They follow from the length of a tower's sequences, or are constants. The gradient is of rows by these numbers,
    which each tower has besides the rows.

    Args:
      graph: the subgraph that a step runs.
      masks: see `Towers`.
      labels: {node: tower number}.
      model: nodes that depend on weights.

    Returns:
      The nodes; none if not every tower has some.
    """
    lookups = [name for name in labels if name in model and graph.type(name) in op_types.LOOKUPS]
    rows = [graph.inputs(name)[1].node for name in lookups]
    return _of_every_tower({name for name in rows if name in labels and not masks.get(name, 0)}, labels)


def takers_of_kept_examples(
    graph: Graph, imported: ImportedGraph, labels: Mapping[str, int], weights: Collection[str]
) -> set[str]:
    """Returns the towers' nodes that take examples which each keeps in a variable of its own, beside drawn labels.

    No step changes or trains such a variable, and it has examples along its first dimension.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      labels: {node: tower number}.
      weights: names of the variables that are trained.

    Returns:
      The nodes; none if not every tower has some.
    """
    kept = [name for name in graph.of_types(*op_types.VARIABLES) if name not in weights]
    kept = [name for name in kept if len(imported.shape(name) or ()) > 1]
    changed = set(written_variables(graph).values()) if kept else set()
    found: set[str] = set()
    for name in [name for name in kept if name not in changed]:
        users: set[str] = set()
        todo = [name]
        while todo:
            takers = {use.node for use in graph.users(todo.pop())}
            reads = {user for user in takers - labels.keys() if graph.type(user) in op_types.READS}
            users |= takers - reads
            todo += reads
        towers = {labels.get(user) for user in users}
        if len(towers) == 1 and None not in towers:
            found |= users
    return _of_every_tower(found, labels)


def _of_every_tower(found: set[str], labels: Mapping[str, int]) -> set[str]:
    """Some nodes with labels; none of them if not every tower has some."""
    return found if {labels[name] for name in found} == set(labels.values()) else set()
