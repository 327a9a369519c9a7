"""Hazards of trainable variables that are never trained: no loss depends on them, or their gradient is always zero."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import READS, variable_read
from workloads.lifted.tensors.gradient_names import gradient_nodes, is_gradient_op
from workloads.support.wording import FEW, counted, listed, plural

#: Of the variables that a loss depends on, so many at least are left out where one alone is trained by mistake.
LEAST_LEFT_OUT = 2
#: Ops whose result is zero where one input is, and with it the gradient of the other.
PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Mul", "Conv2D", "Conv3D", "DepthwiseConv2dNative")
#: Ops whose result is zero where their first input is.
KEEP_ZEROS = ("Identity", "Reshape", "Transpose", "ExpandDims", "Squeeze", "Cast", "Neg", "Relu", "StopGradient")


def variables_without_gradient(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds trainable variables that nothing changes, and that no loss depends on, or none that is minimized.

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
    # Another loss, such as that of a tower whose gradients are dropped, has gradients of them that nothing applies.
    every = differentiated(whole.graph, set(whole.graph.nodes)) if lost else []
    of_others = whole.graph.ancestors(every, controls=False)
    for is_of_others, what, reason in (
        (False, "no gradient reaches", "no loss depends on them, and nothing changes them"),
        (True, "no update changes", "losses depend on them, but no update takes the gradients of these losses"),
    ):
        names = [name for name in lost if (name in of_others) is is_of_others]
        if names:
            yield Hazard(
                "VARIABLES_WITHOUT_GRADIENT",
                names[0],
                f"{what} {counted(len(names), 'trainable variable')} ({listed(names, FEW)}): {reason}",
                "a port that applies gradients of all trainable variables gets None for these: leave them out, or let "
                "the loss depend on them",
            )


def gradients_of_the_first_alone(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers whose backward passes give every gradient, and of which the first layer's weight alone is trained.

    One variable that is trained on purpose, such as an image or the rows of a table, is no layer's weight.
    """
    changed = set(whole.writes.values())
    every = dict.fromkeys(whole.collections.get("trainable_variables", []))
    if whole.count < 2 or len(every) <= LEAST_LEFT_OUT or len(changed.intersection(every)) != 1:
        return
    forward = whole.graph.ancestors(whole.targets, controls=False)
    named = [name for name in every if name in forward]
    is_layer = any(
        name in whole.data and named[:1] == _weight_of(whole, name) for name in whole.minimized_ops(*op_types.LAYERS)
    )
    if len(named) <= LEAST_LEFT_OUT or named[0] not in changed or not is_layer:
        return
    unused = [_unused_gradients(whole, tower) for tower in whole.towers()]
    owned = [_variables_of(whole, tower, named) for tower in whole.towers()]  # a bias may be each tower's own
    if all(len(names) >= len(own) - 1 >= LEAST_LEFT_OUT for names, own in zip(unused, owned)):
        yield Hazard(
            "GRADIENTS_NOT_APPLIED",
            unused[0][0],
            f"every tower computes the gradients of {len(owned[0])} variables, and an update takes those of the first "
            f"alone ({named[0]}); nothing changes the others ({listed(named[1:], FEW)})",
            "check that the averaging helper returns behind its loop over the variables, and not in it; for parity, "
            "train the first alone",
        )


def _unused_gradients(whole: WholeGraph, tower: int) -> list[str]:
    """The ends of a tower's backward pass that nothing takes, such as the sum of what two uses of a weight give."""
    graph = whole.graph
    backward = gradient_nodes(graph).union(whole.backward(tower))
    own = [name for name, of_tower in whole.labels.items() if of_tower == tower and name in backward]
    ends = [name for name in own if name not in whole.reach and graph.type(name) != "NoOp"]
    return [name for name in ends if not graph.users(name)]


def _variables_of(whole: WholeGraph, tower: int, names: Collection[str]) -> list[str]:
    """Those of some variables that a tower's loss depends on; all of them where the towers share one loss."""
    targets = [target for target in whole.targets if whole.labels.get(target) == tower]
    forward = whole.graph.ancestors(targets or whole.targets, controls=False)
    return [name for name in names if name in forward]


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
            f"alone ({listed(lost, FEW)}): their gradient is zero in every step",
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


def untrained_layers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a layer of random weights that nothing trains, between layers that are trained; one hazard for all.

    Layers that a checkpoint of another program fills come first, as a backbone, or last, as a network that judges what
    another one makes: nothing is trained before the former or behind the latter.
    """
    graph = whole.graph
    forward = whole.minimized
    changed = set(whole.writes.values()) | whole.trainable
    lost = []
    for name in [name for name in graph.of_types(*op_types.LAYERS) if name in forward]:
        weight = variable_read(graph, graph.inputs(name)[1].node)
        if not weight or weight in changed or is_gradient_op(name) or not _is_drawn(whole, weight):
            continue
        before = graph.ancestors([graph.inputs(name)[0].node], controls=False)
        behind = graph.descendants([name], controls=False) & forward
        uses = (use for later in behind & set(graph.nodes) - {name} for use in _weight_of(whole, later))
        if before & whole.trainable and name in whole.data and any(use in whole.trainable for use in uses):
            lost.append(weight)
    if lost:
        names = list(dict.fromkeys(lost))
        yield Hazard(
            "LAYER_NOT_TRAINED",
            names[0],
            f"{counted(len(names), 'layer')} between layers that are trained "
            f"{plural(len(names), 'has', 'have')} random weights that nothing changes ({listed(names, FEW)}), "
            "as with trainable=False",
            "train it, unless a checkpoint fills it on purpose; for parity leave it as it is",
        )


def _weight_of(whole: WholeGraph, name: str) -> list[str]:
    """The variable that a layer's product takes, in a list; empty for any other node."""
    is_layer = whole.graph.type(name) in op_types.LAYERS and not is_gradient_op(name)
    return [variable_read(whole.graph, whole.graph.inputs(name)[1].node)] if is_layer else []


def _is_drawn(whole: WholeGraph, variable: str) -> bool:
    """Whether a variable's initializer draws random numbers."""
    initial = f"{variable}/Assign"
    before = whole.graph.ancestors([initial], controls=False) if initial in whole.graph.nodes else set()
    return any(op_types.is_random(whole.graph.type(name)) for name in before)
