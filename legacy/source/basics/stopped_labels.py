"""Labels that the old gradients do not reach: before TensorFlow 1.5 a cross-entropy had no derivative by its labels."""

from __future__ import annotations

from legacy.saved.graph import op_types
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.tensors.gradient_names import forward_name, gradient_nodes

#: The cross-entropy with distributions, and the op that its labels' derivative is computed with.
CROSS_ENTROPY, OF_LABELS = "SoftmaxCrossEntropyWithLogits", "LogSoftmax"


def with_stopped_labels(graph: Graph) -> Graph:
    """Returns a lift's graph with a StopGradient on labels that depend on weights and that the old gradients leave out.

    What is written is differentiated again: today's gradient of a cross-entropy reaches its labels, such as those that
    a program computes from its own logits.

    Args:
      graph: of the lift.

    Returns:
      The graph; the same one if there are no such labels.
    """
    stopped = [name for name in sorted(_without_derivative(graph)) if _depends_on_variables(graph, name)]
    if not stopped:
        return graph
    result = GraphCopy(graph)
    for name in stopped:
        entropy = result.nodes[name]
        node = result.add(f"{name}/stopped_labels", "StopGradient", [entropy.input[1]], entropy.device)
        node.attr["T"].CopyFrom(entropy.attr["T"])
        result.give(name, 1, TensorId(node.name, 0))
    return result.graph()


def _without_derivative(graph: Graph) -> set[str]:
    """The cross-entropies that gradients are computed of, without a derivative by their labels."""
    gradients = gradient_nodes(graph)
    forward = {name: forward_name(name, graph.nodes) for name in gradients}
    differentiated = {name for name in forward.values() if name in graph.nodes and graph.type(name) == CROSS_ENTROPY}
    return differentiated - {forward[name] for name in gradients if graph.type(name) == OF_LABELS}


def _depends_on_variables(graph: Graph, name: str) -> bool:
    """Whether the labels of a cross-entropy are computed from variables."""
    labels = graph.inputs(name)[1].node
    if graph.type(labels) == "StopGradient":
        return False
    return any(graph.type(before) in op_types.VARIABLES for before in graph.ancestors([labels], controls=False))
