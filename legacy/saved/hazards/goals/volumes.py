"""Hazard of normalizing flows whose loss adds the logarithm of a scale, in place of subtracting it."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import linear_source
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that hand on elements of which a flow is made: parts, joins, permutations and sums.
_WAYS = (
    *("Split", "SplitV", "StridedSlice", "GatherV2", "Gather", "ReverseV2", "Transpose", "Reshape", "Identity"),
    *("Concat", "ConcatV2", "Add", "AddV2", "Sub", "BiasAdd", "Mul", "Unpack", "Pack"),
)


def volumes_that_shrink(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds x * exp(s) of data, of which a loss has the squares, where the loss adds s, too; one hazard for all.

    The loss is minus a log-likelihood: both of its terms fall with s, and nothing holds it back. With x * exp(-s) the
    loss does add s.
    """
    graph = whole.graph
    signs = {target: linear_signs(whole, target) for target in minimized_targets(whole)}
    for name in [name for name in whole.minimized_ops("Exp") if not is_gradient_op(name)]:
        source, factor, _ = linear_source(whole, graph.inputs(name)[0].node)
        products = [use.node for use in graph.users(name) if _scales_data(whole, use.node, name)]
        for target, own in signs.items():
            sums = [node for node in own if own[node] and graph.type(node) in op_types.REDUCTIONS]
            of_scale = {own[node] for node in sums if _adds_up(whole, node, source)}
            if not products or not factor or of_scale != {1 if factor > 0 else -1}:
                continue
            square = _square_of(whole, products, own)
            if square:
                yield Hazard(
                    "VOLUME_WITH_WRONG_SIGN",
                    products[0],
                    f"{target} adds {source}, by whose exponential {products[0]} scales the data, and the squares "
                    f"{square} of what comes of it: both are lower where everything is scaled to 0",
                    "the loss of a flow subtracts the logarithm of its determinant; for parity keep the sign",
                )
                return


def _scales_data(whole: WholeGraph, name: str, scale: str) -> bool:
    """Whether a node is data, and not random numbers, times a scale that weights make."""
    graph = whole.graph
    inputs = [tensor.node for tensor in graph.inputs(name)]
    if graph.type(name) != "Mul" or is_gradient_op(name) or scale not in made_by_weights(whole):
        return False
    before = graph.ancestors([node for node in inputs if node != scale], controls=False)
    is_drawn = any(op_types.is_random(graph.type(node)) for node in before)
    return not is_drawn and any(op_types.is_source(graph.type(node)) for node in before)


def _adds_up(whole: WholeGraph, total: str, source: str) -> bool:
    """Whether a Sum or Mean adds up the elements of a node."""
    return linear_source(whole, whole.graph.inputs(total)[0].node)[0] == source


def _square_of(whole: WholeGraph, products: list[str], signs: dict[str, int]) -> str:
    """A node that a loss adds, and that squares a value computed from some products; "" if there is none."""
    for name in [name for name, sign in signs.items() if sign > 0]:
        base = squared(whole, name)
        if base is not None and _comes_from(whole, base, products):
            return name
    return ""


def _comes_from(whole: WholeGraph, tensor: TensorId, products: list[str]) -> bool:
    """Whether a tensor is made of some products, and is no difference of them from data, such as labels."""
    graph, todo = whole.graph, [tensor.node]
    seen = set(todo)
    while todo:
        name = todo.pop()
        if name in products:
            return True
        inputs = {one.node for one in graph.inputs(name)} if graph.type(name) in _WAYS else set()
        if graph.type(name) in op_types.SUMS_AND_DIFFERENCES and any(_is_given(whole, one) for one in inputs):
            continue
        todo += sorted(inputs - seen)
        seen |= inputs
    return False


def _is_given(whole: WholeGraph, name: str) -> bool:
    return name in whole.data and name not in made_by_weights(whole)
