"""Tensors that bring data into towers, and into the nodes that are computed once."""

from __future__ import annotations

from collections.abc import Collection

from legacy.saved.analysis.division.labelled_step import LabelledStep
from legacy.saved.graph import op_types
from legacy.saved.inputs.settings import is_number_of_settings, is_scalar_setting
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors import gradient_names


def find_cuts(
    step: LabelledStep,
    tower_nodes: dict[str, int],
    returns: list[list[TensorId]],
    computed: Collection[str] = (),
) -> list[list[TensorId]]:
    """Finds the tensors that bring data into the towers.

    Args:
      step: the step.
      tower_nodes: {node: the tower that computes it}.
      returns: for each tower, tensors that come back into it; they are no cuts.
      computed: nodes outside of the towers that the step computes, as of all towers' data.

    Returns:
      For each tower its cuts, in the order of first use.
    """
    cuts = []
    for tower in range(step.towers.count):
        own = [name for name in step.graph.nodes if tower_nodes.get(name) == tower]  # in the order of the graph
        cuts.append(_tensors_entering(step, own, tower_nodes, set(returns[tower]), computed))
    return cuts


def find_common_cuts(
    step: LabelledStep,
    tower_nodes: dict[str, int],
    returned: list[TensorId],
    leaving: Collection[TensorId] = (),
    computed: Collection[str] = (),
) -> list[TensorId]:
    """Finds the tensors that bring data or settings into the nodes that are computed once.

    Args:
      step: the step.
      tower_nodes: {node: the tower that computes it}.
      returned: returns that are computed once.
      leaving: tensors that leave the towers, which are no cuts.
      computed: nodes outside of the towers that the step computes, as of all towers' data.

    Returns:
      The tensors, sorted.
    """
    losses = [name for name, _ in step.losses if name not in tower_nodes]
    ends = step.order.effects + losses + [name for name, _ in returned]
    computed = {*computed, *_of_changed_values(step, tower_nodes)}
    return sorted(_tensors_entering(step, ends, tower_nodes, leaving, computed, with_numbers=True))


def _of_changed_values(step: LabelledStep, tower_nodes: dict[str, int]) -> set[str]:
    """The nodes before the towers that read a variable which the step changes, and that no tower takes.

    As data they would hold no value of that variable, such as the rows of class centers that the step moves.
    """
    graph, changed = step.graph, {variable for names in step.state.writes.values() for variable in names}
    reads = [name for name, names in step.state.reads.items() if changed & set(names) and name not in tower_nodes]
    taken = {tensor.node for name in tower_nodes for tensor in graph.inputs(name)} - set(tower_nodes)
    return graph.descendants(reads, controls=False) - graph.ancestors(taken, controls=False) if reads else set()


def _tensors_entering(
    step: LabelledStep,
    ends: list[str],
    tower_nodes: dict[str, int],
    stop: Collection[TensorId] = (),
    computed: Collection[str] = (),
    with_numbers: bool = False,
) -> list[TensorId]:
    """Tensors that bring data or settings to some nodes, directly or by way of nodes that belong to no tower.

    Args:
      step: the step.
      ends: the nodes.
      tower_nodes: {node: the tower that computes it}.
      stop: tensors that are no cuts.
      computed: nodes of no tower that are computed by the step, whatever they hold.
      with_numbers: whether numbers that are computed from settings are computed by the step, and the settings its cuts,
        as are those that are made from random numbers, such as noise that is added to combined gradients. So is what is
        made from tensors that are no cuts, as by a model that is run on the first tower's batch once more.

    Returns:
      The tensors, in the order of first use.
    """
    found: dict[TensorId, None] = {}
    fed = _behind_data(step, stop) if with_numbers else set()
    seen, todo = set(ends), list(reversed(ends))
    while todo:
        for tensor in step.graph.inputs(todo.pop()):
            producer = tensor[0]
            if tensor in step.state.aliases or producer in tower_nodes or tensor in stop:
                continue
            is_computed = with_numbers and (
                (producer not in fed and step.graph.type(producer) != "Placeholder")
                or is_number_of_settings(step.graph, step.imported, step.state.aliases, producer)
            )
            if brings_data(step.graph, step.towers, producer) and not is_computed and producer not in computed:
                found[tensor] = None
            elif producer not in seen:
                seen.add(producer)
                todo.append(producer)
    return list(found)


def _behind_data(step: LabelledStep, stop: Collection[TensorId]) -> set[str]:
    """The nodes that depend on placeholders other than scalar settings, but for the shapes of combined gradients.

    Args:
      step: the step.
      stop: tensors that leave the towers: what depends on data by these alone is not among the nodes.
    """
    graph = step.graph
    placeholders = graph.of_types("Placeholder")
    found = {name for name in placeholders if not is_scalar_setting(graph, step.imported, name)}
    shapes = graph.of_types(*op_types.SHAPE_OPS)
    of_combined = {name for name in shapes if step.towers.is_shared(graph.inputs(name)[0].node)}
    todo = list(found)
    while todo:
        name = todo.pop()
        users = () if name in of_combined else graph.users(name)
        reached = {use.node for use in users if TensorId(name, use.output) not in stop} - found
        found |= reached
        todo += reached
    return found


def brings_data(graph: Graph, towers: Towers, producer: str) -> bool:
    """Tells whether a node holds data that no tower has computed: a placeholder, or a node before all towers.

    A gradient holds none: that of a product with labels is made from the labels, which enter themselves.

    Args:
      graph: the cut graph.
      towers: the towers.
      producer: name of the node.

    Returns:
      Whether it does.
    """
    if graph.type(producer) == "Placeholder":
        return True
    drawn = op_types.is_random(graph.type(producer))
    return towers.is_common(producer) and not drawn and not gradient_names.is_gradient_op(producer)
