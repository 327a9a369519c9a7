"""Hazard of attention weights that add up to 1 along the queries, in place of the keys."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import order_of_axes
from legacy.saved.hazards.basics.dropout import dropped_from
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op


def shares_along_queries(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds attention weights that add up to 1 along the queries, while the product sums along the keys."""
    graph, imported = whole.graph, found.context.imported
    for product in whole.minimized_ops("BatchMatMul", "BatchMatMulV2"):
        if is_gradient_op(product) or graph.nodes[product].attr["adj_x"].b:
            continue
        turned = _past(whole, graph.inputs(product)[0].node)
        order = order_of_axes(graph, imported, graph.inputs(turned)[1]) if graph.type(turned) == "Transpose" else None
        softmax = _past(whole, graph.inputs(turned)[0].node) if order else ""
        if not order or graph.type(softmax) != "Softmax" or order[-2:] != [len(order) - 1, len(order) - 2]:
            continue
        scores = graph.inputs(softmax)[0].node
        if _compares_results(whole, scores) or _adds_results(whole, scores):
            yield Hazard(
                "SOFTMAX_OVER_QUERIES",
                softmax,
                f"{softmax} runs along the queries, and {product} sums along the keys: the attention weights of a "
                "query do not add up to 1",
                "take the softmax along the last axis, the keys; for parity keep it",
            )
            return


def _compares_results(whole: WholeGraph, scores: str) -> bool:
    """Whether scores are products of results of weights, as queries with keys; shares of clusters are made by weights.

    So is a pooling of nodes by what a layer gives for each of them. The products are those nearest to the scores.
    """
    graph, todo, seen, products = whole.graph, [scores], {scores}, []
    while todo:
        name = todo.pop()
        if graph.type(name) in op_types.MATRIX_PRODUCTS:
            products.append(name)
            continue
        before = {tensor.node for tensor in graph.inputs(name) if tensor.node in made_by_weights(whole)} - seen
        seen |= before
        todo += before
    sides = [tensor.node for name in products for tensor in graph.inputs(name)[:2]]
    return bool(sides) and all(side in made_by_weights(whole) and side in whole.data for side in sides)


def _adds_results(whole: WholeGraph, scores: str) -> bool:
    """Whether scores are sums of a result for each query and the same layer's for each key, as of a graph's edges."""
    graph, todo, seen = whole.graph, [scores], {scores}
    while todo:
        name = todo.pop()
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if graph.type(name) in op_types.ADDITIONS and all(node in made_by_weights(whole) for node in inputs):
            kinds = [graph.type(node) for node in inputs]
            return kinds.count("Transpose") == 1 and all(node in whole.data for node in inputs)
        before = {node for node in inputs if node in made_by_weights(whole)} - seen
        seen |= before
        todo += before
    return False


def _past(whole: WholeGraph, name: str) -> str:
    """The node of which a node is a copy, perhaps behind dropout."""
    graph = whole.graph
    while True:
        dropped = dropped_from(whole, name)
        if dropped:
            name = dropped[0]
        elif graph.type(name) in ("Identity", "Reshape") and graph.inputs(name):
            name = graph.inputs(name)[0].node
        else:
            return name
