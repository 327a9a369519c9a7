"""Hazard of cross entropies whose logits are bounded: what takes logits is given the result of an activation."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.hazard import Hazard
from workloads.lifted.graph import TensorId

#: Ops that take logits and compute a cross entropy from them.
_CROSS_ENTROPIES = ("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits")
#: Ops that hand the elements of their first input on.
_PASSES = ("Identity", "Reshape", "Squeeze", "ExpandDims", "Transpose", "Cast", "StopGradient")
#: {activation: what it makes of logits}.
_ACTIVATIONS = {
    "Relu": "no logit is below zero, and classes whose logit is zero get no gradient",
    "Relu6": "no logit is below zero or above six, and classes at these get no gradient",
    "Softmax": "they are probabilities already, and no class gets nearly all of the probability",
    "Sigmoid": "all are between zero and one, and no class gets nearly all of the probability",
}


def activated_logits(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses of the step whose logits an activation made, each once for all towers."""
    seen: set[str] = set()
    for name in whole.graph.nodes:
        if name not in whole.reach or whole.graph.type(name) not in _CROSS_ENTROPIES:
            continue
        source = _source(whole, whole.graph.inputs(name)[0])
        kind = whole.graph.type(source)
        if kind in _ACTIVATIONS and kind not in seen:
            seen.add(kind)
            yield Hazard(
                "LOGITS_ACTIVATED",
                name,
                f"{name} takes what {source} ({kind}) gives for logits: {_ACTIVATIONS[kind]}",
                "keep it for parity; in new code, give the loss what the activation is given",
            )


def _source(whole: WholeGraph, tensor: TensorId) -> str:
    """Returns the node whose elements a tensor holds, perhaps in another shape."""
    while whole.graph.type(tensor.node) in _PASSES and whole.graph.inputs(tensor.node):
        tensor = whole.graph.inputs(tensor.node)[0]
    return tensor.node
