"""Entropies of policies: products of probabilities and their logarithms, in the forms in which programs write them."""

from __future__ import annotations

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types

#: Ops that hand on values, perhaps with the other sign.
COPIES = ("Identity", "Reshape", "Squeeze", "ExpandDims", "Neg")


def sign_of_entropy(whole: WholeGraph, name: str) -> tuple[int, str]:
    """Returns the sign of a policy's entropy in a product of probabilities and their own logarithms.

    Args:
      whole: the graph.
      name: of the product.

    Returns:
      (-1, or 1 of that with the negative logarithms, or 0 of anything else; the node that the probabilities are
      made of).
    """
    graph = whole.graph
    inputs = [tensor.node for tensor in graph.inputs(name)] if graph.type(name) == "Mul" else []
    for one, other in zip(inputs, reversed(inputs)):
        (share, of_share), (logarithm, of_logarithm) = past_signs(whole, one), past_signs(whole, other)
        if _is_logarithm_of(whole, logarithm, share):
            made_of = logarithm if graph.type(share) == "Exp" else share
            return -of_share * of_logarithm, past(whole, graph.inputs(made_of)[0].node)
        of_logits, logits = _log_of_share_by_hand(whole, logarithm, share)
        if of_logits:
            return -of_share * of_logarithm * of_logits, logits
    return 0, ""


def _is_logarithm_of(whole: WholeGraph, logarithm: str, share: str) -> bool:
    """Whether a node holds the logarithms of another one's probabilities."""
    graph = whole.graph
    if graph.type(share) == "Exp" and graph.type(logarithm) == "LogSoftmax":
        return past(whole, graph.inputs(share)[0].node) == logarithm
    if graph.type(share) != "Softmax":
        return False
    if graph.type(logarithm) == "LogSoftmax":
        return graph.origin(graph.inputs(logarithm)[0]) == graph.origin(graph.inputs(share)[0])
    return graph.type(logarithm) == "Log" and share in graph.ancestors([logarithm], controls=False)


def _log_of_share_by_hand(whole: WholeGraph, logarithm: str, share: str) -> tuple[int, str]:
    """(1 of x - log z, -1 of log z - x, 0 of anything else; logits) for a share exp(x) / z with z the sum of exp(x).

    x are the logits, perhaps less their maximum.
    """
    graph = whole.graph
    if graph.type(share) not in op_types.QUOTIENTS or graph.type(logarithm) != "Sub":
        return 0, ""
    power, total = (graph.origin(tensor).node for tensor in graph.inputs(share))
    if graph.type(power) != "Exp" or graph.type(total) != "Sum" or graph.inputs(total)[0].node != power:
        return 0, ""
    shifted = graph.origin(graph.inputs(power)[0]).node
    terms = [graph.origin(tensor).node for tensor in graph.inputs(logarithm)]
    logs = [graph.type(term) == "Log" and graph.origin(graph.inputs(term)[0]).node == total for term in terms]
    if sorted(logs) != [False, True] or terms[logs.index(False)] != shifted:
        return 0, ""
    is_shifted = graph.type(shifted) == "Sub" and graph.type(graph.inputs(shifted)[1].node) == "Max"
    return (1 if logs[1] else -1), past(whole, graph.inputs(shifted)[0].node if is_shifted else shifted)


def past(whole: WholeGraph, name: str) -> str:
    """Returns the node that a node is a copy of, perhaps with the other sign."""
    return past_signs(whole, name)[0]


def past_signs(whole: WholeGraph, name: str) -> tuple[str, int]:
    """Returns the node that a node is a copy of, and -1 if it has the other sign."""
    sign = 1
    while whole.graph.type(name) in COPIES:
        sign = -sign if whole.graph.type(name) == "Neg" else sign
        name = whole.graph.inputs(name)[0].node
    return name, sign
