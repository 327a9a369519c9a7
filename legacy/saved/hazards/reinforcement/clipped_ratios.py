"""Hazards of a clipped objective, of a policy or of values, that takes the better of two values and not the worse."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.basics.squares import squared
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def optimistic_surrogates(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses with less max(r A, clip(r) A), or with the minimum of them, of a ratio r; one hazard for all."""
    graph = whole.graph
    for target in minimized_targets(whole):
        for name, sign in linear_signs(whole, target).items():
            kind = graph.type(name)
            if is_gradient_op(name) or (kind, sign) not in (("Maximum", -1), ("Minimum", 1)):
                continue
            terms = [graph.origin(tensor).node for tensor in graph.inputs(name)]
            if any(_are_free_and_clipped_errors(whole, *pair) for pair in (terms, terms[::-1])):
                yield Hazard(
                    "CLIPPING_OPTIMISTIC",
                    name,
                    f"{name} takes the smaller of two squared errors, of a value and of one whose change is clipped: "
                    "beyond the bounds the free error counts where it is smaller, and nothing stops the change",
                    "use the larger of both; for parity keep it",
                )
                return
            if any(_are_free_and_clipped(whole, *pair) for pair in (terms, terms[::-1])):
                yield Hazard(
                    "CLIPPING_OPTIMISTIC",
                    name,
                    f"{name} takes the {kind.lower()} of a ratio and of the clipped ratio, both times one advantage, "
                    f"and {target} falls with the better of the two: outside of its bounds, nothing stops the ratio",
                    "use the minimum of what is maximized; for parity keep it",
                )
                return


def _are_free_and_clipped(whole: WholeGraph, free: str, clipped: str) -> bool:
    """Whether a node is an exponential ratio times an advantage, and another the clipped ratio times the same one."""
    one, other = (_factors(whole, name) for name in (free, clipped))
    ratios = [factor for factor in one if whole.graph.type(factor) == "Exp" and factor not in other]
    bounded = [factor for factor in other if factor not in one]
    return len(ratios) == len(bounded) == 1 and _unclipped(whole, bounded[0]) == ratios[0] and len(one) == 2


def _are_free_and_clipped_errors(whole: WholeGraph, free: str, clipped: str) -> bool:
    """Whether nodes are (v - r)^2 and (u + clip(v - u) - r)^2, as of a value v that was u before."""
    one, other = (_sides_of_error(whole, name) for name in (free, clipped))
    common = one & other
    values, bounded = one - common, other - common
    if not len(common) == len(values) == len(bounded) == 1:
        return False
    total = bounded.pop()
    terms = [whole.graph.origin(tensor).node for tensor in whole.graph.inputs(total)]
    changes = [_unclipped(whole, term) for term in terms] if whole.graph.type(total) in op_types.SUMS_OF_TWO else []
    sources = [[whole.graph.origin(tensor).node for tensor in whole.graph.inputs(name)] for name in changes if name]
    return any(whole.graph.type(name) == "Sub" for name in changes if name) and any(
        source[:1] == list(values) and source[1:2] == [term] for source in sources for term in terms
    )


def _sides_of_error(whole: WholeGraph, name: str) -> set[str]:
    """The two nodes whose difference a node squares, perhaps times a constant; none of any other node."""
    scaled = constant_factor(whole, name)
    name = whole.graph.origin(TensorId(scaled[0], 0)).node if scaled is not None else name
    inner = squared(whole, name)
    if inner is not None:
        name = inner.node
    is_difference = whole.graph.type(name) == ("SquaredDifference" if inner is None else "Sub")
    return {whole.graph.origin(tensor).node for tensor in whole.graph.inputs(name)} if is_difference else set()


def _factors(whole: WholeGraph, name: str) -> list[str]:
    """The factors of a product, or of its negative."""
    graph = whole.graph
    if graph.type(name) == "Neg":
        return _factors(whole, graph.origin(graph.inputs(name)[0]).node)
    if graph.type(name) != "Mul":
        return []
    found = [graph.origin(tensor).node for tensor in graph.inputs(name)]
    return [graph.origin(graph.inputs(node)[0]).node if graph.type(node) == "Neg" else node for node in found]


def bound_at_one(whole: WholeGraph, name: str) -> float | None:
    """Returns a bound of what is clipped: a constant, 1.2 for 1 + e, or 0.8 for 1 - e, of an e that is fed.

    Args:
      whole: the graph.
      name: of a node.

    Returns:
      The number; None of any other node.
    """
    value, kind = whole.value(name), whole.graph.type(name)
    inputs = [tensor.node for tensor in whole.graph.inputs(name)]
    if value is not None or kind not in op_types.SUMS_AND_DIFFERENCES:
        return value
    one, other = inputs if whole.value(inputs[0]) == 1 or kind == "Sub" else inputs[::-1]
    is_setting = other not in whole.data and not whole.graph.ancestors([other], controls=False) & whole.trainable
    if whole.value(one) != 1 or not is_setting:
        return None
    return 0.8 if kind == "Sub" else 1.2


def _unclipped(whole: WholeGraph, name: str) -> str:
    graph, is_clipped = whole.graph, False
    while graph.type(name) in op_types.BOUNDS:
        others = [tensor for tensor in graph.inputs(name)[:2] if bound_at_one(whole, tensor.node) is None]
        if len(others) != 1:
            return ""
        name, is_clipped = graph.origin(others[0]).node, True
    return name if is_clipped else ""
