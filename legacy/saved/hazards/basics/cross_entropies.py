"""Cross entropies of a loss, from logits and labels: ops of softmax, what 1.x computes for a sigmoid, y * log(p)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.joins import joined_parts
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.linear_weights import linear_source
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that take logits and labels, and compute a softmax and its cross entropy.
_SOFTMAX = ("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits")
#: {op that gives one number for each element: the number}.
_FILLED = {"OnesLike": 1.0, "ZerosLike": 0.0}
#: Ops that keep a probability away from 0.
_GUARDS = ("Add", "AddV2", "ClipByValue", "Identity", "Maximum", "Minimum")


class CrossEntropy(NamedTuple):
    """A cross entropy of the step.

    Attributes:
      op: its last node.
      logits: what it takes for logits.
      labels: what it takes for labels.
      is_sigmoid: whether each logit is of a class of its own.
      is_product: whether `op` is labels times the logarithm of a softmax, of which the program makes the cross
        entropy: a sum over the classes, with a minus sign.
    """

    op: str
    logits: TensorId
    labels: TensorId
    is_sigmoid: bool
    is_product: bool = False


def cross_entropies(whole: WholeGraph) -> Iterator[CrossEntropy]:
    """Yields the cross entropies of the losses that are minimized, in the order of the graph."""
    graph = whole.graph
    for name in whole.minimized_ops(*_SOFTMAX, "Exp", "Mul"):
        if graph.type(name) in _SOFTMAX:
            logits, labels = graph.inputs(name)[:2]
            yield CrossEntropy(name, logits, labels, False)
        elif graph.type(name) == "Exp":
            found = _of_sigmoid(graph, name) or _of_weighted_sigmoid(graph, name)
            if found is not None:
                yield found
        elif graph.type(name) == "Mul" and not is_gradient_op(name):
            found = _of_product(whole, name)
            if found is not None:
                yield found


def logits_of_log(graph: Graph, tensor: TensorId) -> TensorId | None:
    """Returns x of the logarithm of softmax(x), which may be kept away from 0; None for any other tensor."""
    name = source_of_elements(graph, tensor).node
    if graph.type(name) == "LogSoftmax":
        return graph.inputs(name)[0]
    name = graph.inputs(name)[0].node if graph.type(name) == "Log" else ""
    while name and graph.type(name) in _GUARDS:
        name = graph.inputs(name)[0].node
    name = source_of_elements(graph, TensorId(name, 0)).node if name else ""
    return graph.inputs(name)[0] if name and graph.type(name) == "Softmax" else None


def _of_product(whole: WholeGraph, name: str) -> CrossEntropy | None:
    """Labels times the logarithm of a softmax; None for a product with a constant, and for a softmax's own entropy."""
    graph = whole.graph
    factors = [_without_sign(graph, tensor) for tensor in graph.inputs(name)]
    for labels, other in zip(factors, reversed(factors)):
        logits, shares = logits_of_log(graph, other), source_of_elements(graph, labels).node
        is_own = graph.type(shares) == "Softmax" and graph.inputs(shares)[0] == logits
        if logits is not None and not is_own and filled(whole, labels.node) is None:
            return CrossEntropy(name, logits, labels, False, True)
    return None


def _without_sign(graph: Graph, tensor: TensorId) -> TensorId:
    while graph.type(tensor.node) == "Neg":
        tensor = graph.inputs(tensor.node)[0]
    return tensor


def _of_weighted_sigmoid(graph: Graph, exp: str) -> CrossEntropy | None:
    """(1 - z) x + (1 + (q - 1) z) (log(1 + exp(-|x|)) + max(-x, 0)) of an Exp, as 1.x weights positive labels by q."""
    size = graph.inputs(graph.inputs(exp)[0].node)[0].node if graph.type(graph.inputs(exp)[0].node) == "Neg" else ""
    if not size or graph.type(size) != "Abs":
        return None
    logits = graph.inputs(size)[0]
    todo, seen = [user for use in graph.users(exp) for user in _logarithms(graph, use.node)], set()
    while todo:
        name = todo.pop()
        for user in [use.node for use in graph.users(name) if use.node not in seen and not is_gradient_op(use.node)]:
            seen.add(user)
            for other in [tensor.node for tensor in graph.inputs(user) if tensor.node != name]:
                labels = _opposite_factor(graph, other, logits)
                if graph.type(user) in op_types.SUMS_OF_TWO and labels is not None:
                    return CrossEntropy(user, logits, labels, True)
            if graph.type(user) in (*op_types.SUMS_OF_TWO, "Mul"):
                todo.append(user)
    return None


def _opposite_factor(graph: Graph, name: str, logits: TensorId) -> TensorId | None:
    """The z of (1 - z) x; None of anything else."""
    factors = graph.inputs(name) if graph.type(name) == "Mul" else []
    if len(factors) != 2 or logits not in factors:
        return None
    other = factors[1 - factors.index(logits)].node
    return graph.inputs(other)[1] if graph.type(other) == "Sub" else None


def _of_sigmoid(graph: Graph, exp: str) -> CrossEntropy | None:
    """max(x, 0) - x * z + log(1 + exp(-|x|)), as `tf.nn.sigmoid_cross_entropy_with_logits` writes it, of its Exp."""
    smaller = graph.inputs(exp)[0].node
    if graph.type(smaller) not in op_types.CHOICES or graph.type(graph.inputs(smaller)[0].node) != "GreaterEqual":
        return None
    logits = graph.inputs(graph.inputs(smaller)[0].node)[0]
    for log in [user for use in graph.users(exp) for user in _logarithms(graph, use.node)]:
        for total in [use.node for use in graph.users(log) if graph.type(use.node) in op_types.SUMS_OF_TWO]:
            for other in [tensor.node for tensor in graph.inputs(total) if graph.type(tensor.node) == "Sub"]:
                product = graph.inputs(graph.inputs(other)[1].node)
                if len(product) == 2 and logits in product:
                    return CrossEntropy(total, logits, product[1 - product.index(logits)], True)
    return None


def _logarithms(graph: Graph, name: str) -> list[str]:
    """A node if it is log(1 + exp), or its users of which that is true."""
    if graph.type(name) == "Log1p":
        return [name]
    return [
        use.node
        for use in graph.users(name)
        if graph.type(name) in op_types.SUMS_OF_TWO and graph.type(use.node) == "Log"
    ]


def filled(whole: WholeGraph, name: str) -> float | None:
    """Returns the number that all elements of a node are; None if they differ, or are not known."""
    name, factor, offset = linear_source(whole, name)
    kind = whole.graph.type(name)
    joined = whole.graph.inputs(name) if kind == "Pack" else joined_parts(whole.graph, name)
    if joined:
        parts = {filled(whole, tensor.node) for tensor in joined}
        number = parts.pop() if len(parts) == 1 else None
    elif kind == "Fill":
        number = whole.value(whole.graph.inputs(name)[1].node)
    else:
        numbers = constant_array(whole.graph, name)
        is_one = numbers is not None and numbers.size and numbers.min() == numbers.max()
        number = float(numbers.flat[0]) if numbers is not None and is_one else _FILLED.get(kind)
    return None if number is None else factor * number + offset
