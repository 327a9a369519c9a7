"""Hazards of trainable variables that are never trained: no loss depends on them, or their gradient is always zero."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import tensorflow as tf

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.graph.differentiation import differentiated
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import READS
from workloads.support.wording import counted, listed

#: Of variables, so many are named.
MOST_NAMED = 3
#: Ops whose result is zero where one input is, and with it the gradient of the other.
PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Mul", "Conv2D", "Conv3D", "DepthwiseConv2dNative")
#: Ops whose result is zero where their first input is.
KEEP_ZEROS = ("Identity", "Reshape", "Transpose", "ExpandDims", "Squeeze", "Cast", "Neg", "Relu", "StopGradient")


def variables_without_gradient(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds trainable variables that no loss depends on and nothing changes.

    Weights that a program leaves as they are, such as a trained network before the layers that it adds, are in the
    forward pass of its loss; those that it copies from others, such as a target network, are assigned.
    """
    minimized = differentiated(whole.graph, whole.reach | whole.members)
    if not whole.applies or not minimized:
        return
    used = whole.graph.ancestors(minimized, controls=False) | whole.reach
    changed = set(whole.writes.values())
    named = [name for name in whole.collections.get("trainable_variables", []) if name in whole.graph.nodes]
    lost = [name for name in dict.fromkeys(named) if name not in used and name not in changed]
    if lost:
        names = listed(lost, MOST_NAMED)
        yield Hazard(
            "VARIABLES_WITHOUT_GRADIENT",
            lost[0],
            f"no gradient reaches {counted(len(lost), 'trainable variable')} ({names}): no loss depends on them, and "
            "nothing changes them",
            "a port that applies gradients of all trainable variables gets None for these: leave them out, or let the "
            "loss depend on them",
        )


def weights_of_zeros(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds trainable variables that the forward pass multiplies with constant zeros only, as with an unused state."""
    minimized = differentiated(whole.graph, whole.reach | whole.members)
    forward = whole.graph.ancestors(minimized, controls=False)
    lost = [name for name in sorted(whole.trainable & forward) if _meets_zeros_only(whole, name, forward)]
    if lost:
        yield Hazard(
            "WEIGHTS_OF_ZEROS",
            lost[0],
            f"{counted(len(lost), 'trainable variable is', 'trainable variables are')} multiplied with constant zeros "
            f"alone ({listed(lost, MOST_NAMED)}): their gradient is zero in every step",
            "check what was meant to enter, such as the last state; a port that repairs this trains other weights",
        )


def _meets_zeros_only(whole: WholeGraph, variable: str, forward: Collection[str]) -> bool:
    """Whether the nodes of the forward pass that use a variable are products with constant zeros alone."""
    products = []
    todo = [variable]
    while todo:
        for user, position, _ in whole.graph.users(todo.pop()):
            kind = whole.graph.type(user)
            if kind in READS:
                todo.append(user)
            elif user in forward:
                products.append((kind, whole.graph.inputs(user)[1 - position].node if kind in PRODUCTS else user))
    return bool(products) and all(kind in PRODUCTS and _is_zero(whole, other) for kind, other in products)


def _is_zero(whole: WholeGraph, name: str) -> bool:
    """Whether a node's first result is zeros, by constants."""
    kind, inputs = whole.graph.type(name), whole.graph.inputs(name)
    if kind == "Const":
        return not np.any(tf.make_ndarray(whole.graph.nodes[name].attr["value"].tensor))
    if kind == "Fill":
        return whole.value(inputs[1].node) == 0
    if kind in ("ConcatV2", "Concat", "Pack", "AddN"):
        joined = {"ConcatV2": inputs[:-1], "Concat": inputs[1:]}.get(kind, inputs)
        return all(_is_zero(whole, producer) for producer, _ in joined)
    return kind == "ZerosLike" or (kind in KEEP_ZEROS and _is_zero(whole, inputs[0].node))
