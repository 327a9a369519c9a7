"""Learning rates of an Adam that is made of plain ops, with and without the corrections of its moments."""

from __future__ import annotations

from collections.abc import Collection

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.whole_graph import scalar_constant
from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name


def without_correction(analysed: AnalysedStep, tensor: str, by_count: bool = False) -> str:
    """Returns the rate of an Adam of rows, lr in lr * sqrt(1 - beta2_power) / (1 - beta1_power); any other as it is.

    Args:
      analysed: the training step.
      tensor: the factor of its update.
      by_count: whether 1 - beta^t of a counter t is a correction, too; of another rule it may be a warm-up.

    Returns:
      The tensor's name.
    """
    graph, factor = analysed.graph, parse_tensor_name(tensor)
    assigned = [effect for phase in analysed.phases for effect in phase.effects if effect.op.startswith("Assign")]
    made = {effect.writes[0]: parse_tensor_name(effect.values[0]).node for effect in assigned if effect.values}
    powers = {name for name, node in made.items() if graph.type(node) == "Mul"}  # beta^t, times beta in each step
    while graph.type(factor.node) in op_types.SCALINGS:
        first, second = graph.inputs(factor.node)
        if _is_correction(graph, second, powers, by_count):
            factor = first
        elif graph.type(factor.node) == "Mul" and _is_correction(graph, first, powers, by_count):
            factor = second
        else:
            break
    return factor.name


def _is_correction(graph: Graph, tensor: TensorId, powers: Collection[str], by_count: bool) -> bool:
    """Whether a factor is computed from powers of decays and constants alone; `by_count`, also from 1 - b^t."""
    rests = {name for name in graph.ancestors([tensor.node], controls=False) if by_count and _is_rest(graph, name)}
    if rests and tensor.node not in powers:
        nodes = graph.ancestors([tensor.node], rests, controls=False) - rests
        return not any(graph.type(name) in op_types.VARIABLES or op_types.is_source(graph.type(name)) for name in nodes)
    nodes = graph.ancestors([tensor.node], controls=False)
    variables = {name for name in nodes if graph.type(name) in op_types.VARIABLES}
    return bool(variables) and variables.issubset(powers)


def _is_rest(graph: Graph, name: str) -> bool:
    """Whether a node is 1 - b^t."""
    inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)] if graph.type(name) == "Sub" else []
    return len(inputs) == 2 and scalar_constant(graph.nodes[inputs[0]]) == 1 and graph.type(inputs[1]) == "Pow"
