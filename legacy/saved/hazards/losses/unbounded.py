"""Hazard of a loss from which squares or absolute values are subtracted, so that it falls without end."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import sign_of_constants
from legacy.saved.hazards.basics.directions import minimized_targets, trained_by
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import SUMS
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.signs.errors_of_targets import errors_of_targets
from legacy.saved.hazards.signs.value_signs import ValueSigns
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_SQUARES = ("Square", "SquaredDifference", "L2Loss")
#: Ops that choose one of two values.
_CHOICES = ("Minimum", "Maximum", "Select", "SelectV2")


def subtracted_squares(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses from which squares of what weights compute are subtracted: they fall without end; one for all."""
    graph = whole.graph
    for target in whole.targets:
        for name, sign in _signs(whole, target).items():
            if is_gradient_op(name):
                continue
            own = trained_by(whole).get(target, whole.trainable)
            is_followed = gradient_flow(whole).passes(name) and target in minimized_targets(whole)
            is_followed = is_followed and bool(graph.ancestors([name], controls=False) & own)
            if is_followed and graph.type(name) == "Log" and _is_subtracted_error(whole, name, sign):
                yield Hazard(
                    "LOSS_WITHOUT_BOUND",
                    name,
                    f"{target} contains the logarithm {name} of an error so that it falls where the error grows, and "
                    "is unbounded below, as where a signal-to-noise ratio is minimized",
                    "change the sign; for parity keep it",
                )
                return
            if (
                sign < 0
                and is_followed
                and graph.type(name) == "Exp"
                and _is_subtracted_exponential(whole, name, target)
            ):
                yield Hazard(
                    "LOSS_WITHOUT_BOUND",
                    name,
                    f"{target} contains {name} (Exp) of a layer's output with a negative weight: it is unbounded below",
                    "check the sign: a divergence has exp(h) - h for a log-variance h; for parity keep it",
                )
                return
            if is_followed and graph.type(name) in _CHOICES and _is_lesser_of_both_sides(whole, name, sign):
                yield Hazard(
                    "LOSS_WITHOUT_BOUND",
                    name,
                    f"{target} contains {name}, the lesser of a positive and a negative multiple of one error: it is "
                    "unbounded below",
                    "use tf.maximum, as a quantile loss does; for parity keep it",
                )
                return
            square = name if sign >= 0 else _weighed_square(whole, name)
            is_size = graph.type(square) == "Abs" or (graph.type(square) == "Sqrt" and _is_norm(whole, square))
            if sign >= 0 or not (_is_square(whole, square) or is_size):
                continue
            inner = [graph.origin(tensor).node for tensor in graph.inputs(square)]
            is_trained = name in whole.data and any(_is_unbounded(whole, node) for node in inner)
            is_trained |= squared(whole, square) is not None and variable_read(graph, inner[0]) in whole.trainable
            is_trained |= graph.type(square) == "Abs" and variable_read(graph, inner[0]) in whole.trainable
            if is_trained and is_followed and not _is_of_pairs(whole, square, target):
                yield Hazard(
                    "LOSS_WITHOUT_BOUND",
                    name,
                    f"{target} contains {square} ({graph.type(square)}) with a negative weight: it is unbounded below",
                    "check the sign, or bound it, as max(0, margin - distance) does; for parity keep it",
                )
                return


def _is_of_pairs(whole: WholeGraph, square: str, target: str) -> bool:
    """Whether an error is of pairs of results of one layer, whose errors to other values are added, too.

    Results far from each other are far from those values: so an energy distance has E|x - y| - E|x - x'| / 2.
    """
    own = _sides(whole, square)
    added = [name for name, sign in _signs(whole, target).items() if sign > 0 and not is_gradient_op(name)]
    return len(own) == 1 and any(own < _sides(whole, name) for name in added)


def _sides(whole: WholeGraph, name: str) -> set[TensorId]:
    """The tensors whose elements a distance, square or absolute value compares; none of any other node."""
    graph = whole.graph
    while graph.type(name) in ("Abs", "Add", "AddV2", "L2Loss", "Sqrt", "Square", "Sum"):
        terms = graph.inputs(name)[:1] if graph.type(name) == "Sum" else graph.inputs(name)
        others = [tensor for tensor in terms if whole.value(tensor.node) is None]
        if len(others) != 1:
            return set()
        name = graph.origin(others[0]).node
    is_difference = graph.type(name) in op_types.DIFFERENCES
    return {source_of_elements(graph, tensor) for tensor in graph.inputs(name)} if is_difference else set()


def _signs(whole: WholeGraph, target: str) -> dict[str, int]:
    """Signs of the terms of a loss, also of those that a mask weighs, or that a log-sum-exp or maximum takes."""
    graph, found = whole.graph, dict(linear_signs(whole, target))
    todo, values = list(found), ValueSigns(whole)
    while todo:
        name = todo.pop(0)
        inputs = [tensor.node for tensor in graph.inputs(name)]
        inner, sign = "", found[name]
        if graph.type(name) == "Mul" and not is_gradient_op(name):
            given = [node in whole.data and node not in made_by_weights(whole) for node in inputs]
            if given.count(True) == 1:
                inner, sign = inputs[given.index(False)], sign * values.of(inputs[given.index(True)])
        elif graph.type(name) == "Log":
            total = graph.origin(graph.inputs(name)[0]).node
            exponential = graph.origin(graph.inputs(total)[0]).node if graph.type(total) == "Sum" else ""
            is_sum = bool(exponential) and graph.type(exponential) == "Exp"
            inner = graph.inputs(exponential)[0].node if is_sum else ""
        elif graph.type(name) == "Maximum" and sign < 0:  # its bound is on the other side
            others = [node for node in inputs if whole.value(node) is None]
            inner = others[0] if len(others) == 1 else ""
        for node, own in linear_signs(whole, inner).items() if inner and sign else ():
            if node not in found:
                found[node] = own * sign
                todo.append(node)
    return found


def _is_lesser_of_both_sides(whole: WholeGraph, name: str, sign: int) -> bool:
    """Whether a node is min(a x, -b x) of an error x of results and data, or the maximum, which is subtracted.

    The factors may be vectors, as of several quantiles, and a where may choose by the sign of x.
    """
    graph = whole.graph
    if graph.type(name) in op_types.CHOICES:
        condition, *branches = (graph.origin(tensor).node for tensor in graph.inputs(name)[:3])
        lesser = 1 if graph.type(condition) in ("Greater", "GreaterEqual") else -1
        is_answer = lesser > 0 or graph.type(condition) in ("Less", "LessEqual")
        if not is_answer or whole.value(graph.inputs(condition)[1].node) != 0:
            return False
        first, second = (_signed_factor(whole, branch) for branch in branches)
        asked = source_of_elements(graph, graph.inputs(condition)[0])
        is_lesser = first is not None and first[0] == asked and first[1] == -lesser * sign
    else:
        first, second = (_signed_factor(whole, graph.origin(tensor).node) for tensor in graph.inputs(name)[:2])
        is_lesser = (graph.type(name), sign) in (("Minimum", 1), ("Maximum", -1))
    if not is_lesser or first is None or second is None or first[0] != second[0] or first[1] * second[1] >= 0:
        return False
    return first[0].node in whole.data and _is_unbounded(whole, first[0].node)


def _signed_factor(whole: WholeGraph, name: str) -> tuple[TensorId, int] | None:
    """(x, sign of c) of a product of x and constants c of one sign; None for any other node."""
    graph = whole.graph
    inputs = graph.inputs(name) if graph.type(name) == "Mul" else []
    for one, other in zip(inputs, reversed(inputs)):
        sign = sign_of_constants(graph, one.node)
        if sign:
            return source_of_elements(graph, other), sign
    return None


def _is_subtracted_error(whole: WholeGraph, name: str, sign: int) -> bool:
    """Whether a logarithm is of the mean or sum of a network's squared errors, and falls in the loss as that grows."""
    graph, inner = whole.graph, whole.graph.inputs(name)[0].node
    while True:
        inputs = [graph.origin(tensor).node for tensor in graph.inputs(inner)]
        others = [node for node in inputs if whole.value(node) is None]
        if graph.type(inner) in op_types.QUOTIENTS and whole.value(inputs[0]) is not None:
            inner, sign = inputs[1], -sign
        elif graph.type(inner) in op_types.QUOTIENTS and errors_of_targets(whole, inputs) == [False, True]:
            inner, sign = inputs[1], -sign  # a ratio of a signal and an error
        elif graph.type(inner) in op_types.QUOTIENTS and errors_of_targets(whole, inputs) == [True, False]:
            inner = inputs[0]
        elif graph.type(inner) in ("Add", "AddV2", "Mul", *op_types.QUOTIENTS) and len(others) == 1:
            inner = others[0]
        else:
            break
    if graph.type(inner) not in op_types.REDUCTIONS or sign >= 0:
        return False
    squares = graph.origin(graph.inputs(inner)[0]).node
    errors = [graph.origin(tensor).node for tensor in graph.inputs(squares)] if _is_square(whole, squares) else []
    return squares in whole.data and any(_is_unbounded(whole, node) for node in errors)


def _is_unbounded(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a sum of layers' results, without an activation that bounds it."""
    graph, kind = whole.graph, whole.graph.type(name)
    inputs = [graph.origin(tensor).node for tensor in graph.inputs(name)]
    if kind in ("MatMul", "Conv2D", "BiasAdd"):
        return bool(graph.ancestors([name], controls=False) & whole.trainable)
    if is_gradient_op(name):  # of a critic, in a penalty
        return bool(graph.ancestors([name], controls=False) & whole.trainable)
    passes = kind in ("Relu", "Reshape", "Squeeze", "ExpandDims", "DepthToSpace", "StridedSlice", "Split")
    if kind in op_types.QUOTIENTS:
        return _is_unbounded(whole, inputs[0])
    if kind == "Sub":
        inputs = _rest_of_sum(whole, name) or inputs
    if kind in SUMS or passes or (kind in ("Sqrt", "Sum") and _is_norm(whole, name)):
        return any(_is_unbounded(whole, before) for before in inputs)
    return _is_square(whole, name) and any(_is_unbounded(whole, before) for before in inputs)


def _rest_of_sum(whole: WholeGraph, name: str) -> list[str]:
    """The nodes that a difference x + y - x leaves, such as a policy's noise; empty for any other."""
    first, second = (source_of_elements(whole.graph, tensor) for tensor in whole.graph.inputs(name)[:2])
    if whole.graph.type(first.node) not in op_types.SUMS_OF_TWO:
        return []
    terms = [source_of_elements(whole.graph, tensor) for tensor in whole.graph.inputs(first.node)]
    return [term.node for term in terms if term != second] if terms.count(second) == 1 else []


def _weighed_square(whole: WholeGraph, name: str) -> str:
    """The square that a node divides by what is never below 0, such as a variance; the node itself of any other."""
    graph = whole.graph
    while graph.type(name) in op_types.QUOTIENTS and ValueSigns(whole).of(graph.inputs(name)[1].node) > 0:
        name = graph.origin(graph.inputs(name)[0]).node
    return name


def _is_square(whole: WholeGraph, name: str) -> bool:
    return whole.graph.type(name) in _SQUARES or squared(whole, name) is not None


def _is_norm(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a sum of squares, to which a number may be added, or the root of one."""
    graph = whole.graph
    while graph.type(name) in ("Sqrt", "Add", "AddV2"):
        others = [tensor for tensor in graph.inputs(name) if whole.value(tensor.node) is None]
        if len(others) != 1:
            return False
        name = graph.origin(others[0]).node
    return graph.type(name) == "Sum" and _is_square(whole, graph.origin(graph.inputs(name)[0]).node)


def _is_subtracted_exponential(whole: WholeGraph, name: str, target: str) -> bool:
    """Whether a node is exp(h) of a layer's results that a target trains, so that the target is unbounded below."""
    graph, head = whole.graph, whole.graph.inputs(name)[0].node
    while graph.type(head) in ("Identity", "Reshape", "Squeeze", "StridedSlice", "Split", "BiasAdd", "Add", "AddV2"):
        inputs = [tensor.node for tensor in graph.inputs(head)]
        variables = [variable_read(graph, before) for before in inputs]
        if graph.type(head) in ("BiasAdd", "Add", "AddV2"):
            trained = trained_by(whole).get(target, set())
            return bool(set(variables) & trained) and any(_is_unbounded(whole, before) for before in inputs)
        head = inputs[1] if graph.type(head) == "Split" else inputs[0]
    return False
