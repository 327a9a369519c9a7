"""Returns: tensors that come back into a tower from what was computed from all towers' results."""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping, Sequence

from legacy.saved.analysis.division.crossings import Crossings
from legacy.saved.analysis.division.entering import brings_data
from legacy.saved.graph import op_types
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Phase
from workloads.lifted.tensors.gradient_names import in_gradient_graphs, is_gradient_op


def returns_in_loops(graph: Graph, phases: Sequence[Phase]) -> list[str]:
    """Returns the returns inside of `while` loops, those of the forward pass first.

    A tower that takes them differentiates another tower's loop: its function would be a part of that loop.

    Args:
      graph: the cut graph.
      phases: the planned train ops.
    """
    returns = [name for phase in phases for tensors in phase.returns for name in tensors]
    inside = graph.frames() if returns else set()
    found = [name for name in dict.fromkeys(returns) if parse_tensor_name(name).node in inside]
    return sorted(found, key=lambda name: bool(in_gradient_graphs([name])))


def owned_inputs(graph: Graph, towers: Towers, tower_nodes: dict[str, int]) -> dict[TensorId, int]:
    """Finds the inputs that one tower's forward pass has for itself.

    Args:
      graph: the cut graph.
      towers: the towers.
      tower_nodes: {node: the tower that computes it}.

    Returns:
      {tensor that brings data in: the only tower whose forward pass takes it}.
    """
    takers: dict[TensorId, set[int]] = collections.defaultdict(set)
    for name, tower in tower_nodes.items():
        if not is_gradient_op(name):
            for tensor in graph.inputs(name):
                if tensor[0] not in tower_nodes and brings_data(graph, towers, tensor[0]):
                    takers[tensor].add(tower)
    return {tensor: next(iter(found)) for tensor, found in takers.items() if len(found) == 1}


def find_returns(
    graph: Graph, count: int, members: set[str], tower_nodes: dict[str, int], owners: dict[TensorId, int]
) -> list[list[TensorId]]:
    """Finds the tensors that a tower takes and that other towers compute, or that are computed from theirs.

    Args:
      graph: the cut graph.
      count: number of towers.
      members: nodes that the step runs.
      tower_nodes: {node: the tower that computes it}.
      owners: see `owned_inputs`.

    Returns:
      For each tower, its returns.
    """
    own = {name: 1 << tower for name, tower in tower_nodes.items()}
    sizes = _sizes_of_owned(graph, members, tower_nodes, owners)
    own.update((name, 1 << tower) for name, tower in sizes.items() if is_gradient_op(name))
    made_from = graph.flow(graph.order(members), own, controls=False, stop=set(tower_nodes))
    meeting = _sizes_that_meet(graph, members, tower_nodes, sizes)
    found: list[dict[TensorId, None]] = [{} for _ in range(count)]
    for name in [name for name in graph.nodes if name in tower_nodes]:
        tower = tower_nodes[name]
        for tensor in graph.inputs(name):
            made_by = own.get(tensor[0]) or made_from.get(tensor[0], 0) | meeting.get(tensor[0], 0)
            if tensor in owners:  # the backward pass takes the input of another tower
                made_by = 1 << owners[tensor]
            if made_by & ~(1 << tower):
                found[tower][tensor] = None
    return [list(tensors) for tensors in found]


def _sizes_of_owned(
    graph: Graph, members: Collection[str], tower_nodes: Mapping[str, int], owners: Mapping[TensorId, int]
) -> dict[str, int]:
    """{op outside of the towers that gives the shape of an input that one tower has: that tower}.

    The derivative of a difference needs the shapes of both sides, such as that of another tower's targets.
    """
    taken = {name: graph.inputs(name)[0] for name in members if graph.type(name) in op_types.SHAPE_OPS}
    return {name: owners[tensor] for name, tensor in taken.items() if tensor in owners and name not in tower_nodes}


def _sizes_that_meet(
    graph: Graph, members: Collection[str], tower_nodes: Mapping[str, int], sizes: Mapping[str, int]
) -> dict[str, int]:
    """Finds numbers that are made from the sizes of several towers' inputs, as their largest number of words is.

    A size of one input alone is taken for that of the tower's own: one zero state may serve all towers.

    Args:
      graph: the cut graph.
      members: nodes that the step runs.
      tower_nodes: {node: the tower that computes it}.
      sizes: see `_sizes_of_owned`.

    Returns:
      {node: a bit for each of these towers}.
    """
    if len(set(sizes.values())) < 2:
        return {}
    own = {name: 1 << tower for name, tower in sizes.items()}
    made = graph.flow(graph.order(members), own, controls=False, stop=set(tower_nodes))
    return {name: towers for name, towers in made.items() if towers & (towers - 1)}


def depend_on_sizes_alone(graph: Graph, returns: Collection[TensorId], early: Crossings) -> bool:
    """Tells whether returns depend on how large the towers' results are, and not on their values.

    The derivative of a mean over all towers' examples is one over their number.

    Args:
      graph: the cut graph.
      returns: of all towers.
      early: tensors that leave the towers on their way to the returns.

    Returns:
      Whether no value of a result leads to a return; False without returns.
    """
    left = {tensor.node for row in early.values() for tensor in row.values()}
    sizes = set(graph.of_types(*op_types.SHAPE_OPS))
    values = graph.descendants(left, controls=False, stop=sizes) - sizes
    return bool(returns) and not values & {tensor.node for tensor in returns}
