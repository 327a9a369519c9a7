"""Squared distances of all rows of a batch to each other and to themselves, as products and norms give them."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.linear_weights import constant_factor
from workloads.lifted.graph import Graph, TensorId

_SUMS = ("Add", "AddV2", "Sub", "AddN")
_COPIES = ("Identity", "Reshape", "ExpandDims", "Transpose", "StridedSlice", "Squeeze")
#: Ops that give the diagonal of a matrix.
_DIAGONALS = ("DiagPart", "MatrixDiagPart", "MatrixDiagPartV2", "MatrixDiagPartV3")


def rows_of_own_distances(whole: WholeGraph, name: str) -> TensorId | None:
    """Returns the rows a of a node |a|^2 - 2 a a' + |a|^2, perhaps not less than 0, with nothing else in the sum.

    Args:
      whole: the graph.
      name: of the node.

    Returns:
      The rows, which data bring; None of any other node.
    """
    graph = whole.graph
    while graph.type(name) in (*_COPIES, "Maximum", "Relu"):
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if graph.type(name) == "Maximum":
            bounds = [whole.value(before) for before in inputs]
            if 0 not in bounds:
                return None
            name = inputs[1 - bounds.index(0)]
        else:
            name = inputs[0]
    terms = _terms(whole, name)
    products = [term for term in terms if graph.type(term) in op_types.MATRIX_PRODUCTS]
    squares = [term for term in terms if graph.type(term) == "Sum" or _is_diagonal_of(graph, term, products)]
    if len(products) != 1 or len(products) + len(squares) != len(terms) or len(squares) != 2:
        return None
    first, second = (_origin(graph, tensor.node) for tensor in graph.inputs(products[0])[:2])
    return TensorId(first, 0) if first == second and first in whole.data else None


def _is_diagonal_of(graph: Graph, name: str, products: list[str]) -> bool:
    """Whether a node is the diagonal of one of the products: of a a', that is |a|^2."""
    return graph.type(name) in _DIAGONALS and _origin(graph, graph.inputs(name)[0].node) in products


def _terms(whole: WholeGraph, name: str) -> list[str]:
    """The terms of a sum, without constant factors."""
    graph = whole.graph
    while graph.type(name) in _COPIES:
        name = graph.inputs(name)[0].node
    if graph.type(name) in _SUMS:
        return [term for tensor in graph.inputs(name) for term in _terms(whole, tensor.node)]
    scaled = constant_factor(whole, name) if graph.type(name) == "Mul" else None
    return [name] if scaled is None else _terms(whole, scaled[0])


def _origin(graph: Graph, name: str) -> str:
    while graph.type(name) in ("Identity", "Transpose"):
        name = graph.inputs(name)[0].node
    return name
