"""Scales and offsets of normalizations: of batch norm ops, of `tf.nn.batch_normalization`, and of those by hand."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.variable_reads import READS_IN_BRANCHES, variable_read
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def parts_of_normalizations(whole: WholeGraph) -> list[str]:
    """Returns the trained variables that normalizations scale by or add, in the order of the graph."""
    graph, found = whole.graph, []
    for name in [name for name in graph.nodes if name in whole.minimized and not is_gradient_op(name)]:
        inputs = [tensor.node for tensor in graph.inputs(name)]
        kinds = [graph.type(graph.origin(tensor).node) for tensor in graph.inputs(name)]
        if graph.type(name).startswith("FusedBatchNorm"):
            found += inputs[1:3]
        elif graph.type(name) == "Mul" and "Rsqrt" in kinds:  # tf.nn.batch_normalization
            if _is_of_weights(whole, inputs[kinds.index("Rsqrt")]):
                continue
            of_scale = {user for user, _, _ in graph.users(name)}
            is_scale = "Mul" in map(graph.type, of_scale)  # rows of words may be what is normalized
            of_rows = [kind in op_types.LOOKUPS and not is_scale for kind in kinds]
            found += [one for one, kind, rows in zip(inputs, kinds, of_rows) if kind != "Rsqrt" and not rows]
            products = of_scale | {user for node in of_scale for user, _, _ in graph.users(node)}
            found += [graph.inputs(node)[0].node for node in products if graph.type(node) == "Sub"]
        if graph.type(name) in op_types.SCALINGS and _is_standardized(whole, name):
            found += _scale_and_offset(whole, name)
    found = [graph.origin(TensorId(name, 0)).node for name in found]
    # Conditional normalization looks a row up for each example.
    tables = [graph.inputs(name)[0].node if graph.type(name) in op_types.LOOKUPS else name for name in found]
    variables = [variable_read(graph, name, READS_IN_BRANCHES) for name in tables]  # of training and evaluation
    updated = {whole.variable_of(name) for name in whole.applies}  # others are trainable, and kept out by a var_list
    return [name for name in dict.fromkeys(variables) if name in whole.trainable & updated]


def _is_standardized(whole: WholeGraph, name: str) -> bool:
    """Whether a node is (x - mean) over a deviation of data, as a normalization by hand has it before its scale."""
    graph = whole.graph
    difference, *roots = (graph.origin(tensor).node for tensor in graph.inputs(name)[:2])
    if graph.type(difference) != "Sub" and graph.type(name) == "Mul":
        difference, roots = roots[0], [difference]
    root = roots[0]
    if graph.type(name) != "Mul" and graph.type(root) in op_types.SUMS_OF_TWO:
        roots = [node for node in (tensor.node for tensor in graph.inputs(root)) if whole.value(node) is None]
        root = roots[0] if len(roots) == 1 else root
    kinds = ("Rsqrt",) if graph.type(name) == "Mul" else ("Sqrt",)
    means = [graph.origin(tensor).node for tensor in graph.inputs(difference)[1:]]
    is_centered = graph.type(difference) == "Sub" and graph.type(means[0]) == "Mean"
    return is_centered and graph.type(root) in kinds and root in whole.data


def _scale_and_offset(whole: WholeGraph, name: str) -> list[str]:
    """Nodes that multiply a standardized value, or are added to the product."""
    graph = whole.graph
    scaled = [use.node for use in graph.users(name) if graph.type(use.node) == "Mul" and not is_gradient_op(use.node)]
    shifted = [use.node for node in scaled for use in graph.users(node) if graph.type(use.node) in op_types.ADDITIONS]
    inputs = [tensor.node for node in [*scaled, *shifted] for tensor in graph.inputs(node)]
    return [node for node in inputs if node != name and node not in scaled]


def _is_of_weights(whole: WholeGraph, root: str) -> bool:
    """Whether a normalization divides by the norm of weights, as of the classes of cosines, and not by a deviation."""
    before = whole.graph.ancestors([root], controls=False)
    return bool(before & whole.trainable) and not before & whole.data
