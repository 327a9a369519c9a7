"""Values of elementwise functions for given numbers, such as a factor of a loss for extreme logits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from workloads.lifted.graph import TensorId

#: Ops that hand their first input on.
_COPIES = ("Identity", "Cast", "Reshape", "ExpandDims", "Squeeze", "ReadVariableOp", "StopGradient", "CheckNumerics")

_FUNCTIONS: dict[str, Callable[..., float]] = {
    "Abs": abs,
    "Add": lambda a, b: a + b,
    "AddV2": lambda a, b: a + b,
    "Cos": np.cos,
    "Div": lambda a, b: a / b,
    "Equal": lambda a, b: float(a == b),
    "Exp": np.exp,
    "Floor": np.floor,
    "FloorDiv": lambda a, b: a // b,
    "Greater": lambda a, b: float(a > b),
    "GreaterEqual": lambda a, b: float(a >= b),
    "Less": lambda a, b: float(a < b),
    "LessEqual": lambda a, b: float(a <= b),
    "Log": np.log,
    "LogicalAnd": lambda a, b: float(bool(a and b)),
    "LogicalNot": lambda a: float(not a),
    "LogicalOr": lambda a, b: float(bool(a or b)),
    "Maximum": max,
    "Minimum": min,
    "Mul": lambda a, b: a * b,
    "Neg": lambda a: -a,
    "OnesLike": lambda a: 1.0,
    "Mod": lambda a, b: a % b,
    "FloorMod": lambda a, b: a % b,
    "Pow": lambda a, b: a**b,
    "RealDiv": lambda a, b: a / b,
    "Select": lambda a, b, c: b if a else c,
    "SelectV2": lambda a, b, c: b if a else c,
    "Sigmoid": lambda a: 1.0 / (1.0 + np.exp(-a)),
    "Sin": np.sin,
    "Sqrt": np.sqrt,
    "Square": lambda a: a * a,
    "SquaredDifference": lambda a, b: (a - b) ** 2,
    "Sub": lambda a, b: a - b,
    "Tanh": np.tanh,
    "ZerosLike": lambda a: 0.0,
}


def evaluate(whole: WholeGraph, tensor: TensorId, given: Mapping[TensorId, float]) -> float | None:
    """Evaluates a tensor of elementwise ops, as if each tensor had one element.

    Args:
      whole: the graph.
      tensor: what to evaluate.
      given: {tensor: its number}.

    Returns:
      The number; None where it depends on more than what is given and constants, or on other ops, or is not finite.
    """
    if tensor in given:
        return given[tensor]
    number = whole.value(tensor.node)
    if number is not None:
        return number
    kind, inputs = whole.graph.type(tensor.node), whole.graph.inputs(tensor.node)
    if kind == "Merge":
        branch = _branch_taken(whole, tensor.node, given)
        return None if branch is None else evaluate(whole, branch, given)
    if kind in (*_COPIES, "Switch") and inputs:
        return evaluate(whole, inputs[0], given)
    if kind == "Fill":
        return evaluate(whole, inputs[1], given)
    if kind == "Const":
        return _truth(whole, tensor.node)
    function = _FUNCTIONS.get(kind)
    numbers = [evaluate(whole, before, given) for before in inputs] if function is not None else [None]
    if function is None or any(number is None for number in numbers):
        return None
    with np.errstate(all="ignore"):
        try:
            result = float(function(*numbers))
        except (ArithmeticError, TypeError, ValueError):
            return None
    return result if np.isfinite(result) else None


def _truth(whole: WholeGraph, name: str) -> float | None:
    """1 or 0 of a constant that is one truth, as the last case of a choice in graphs of TensorFlow 0.x; else None."""
    value = tf.make_ndarray(whole.graph.nodes[name].attr["value"].tensor)
    return float(value.item()) if value.size == 1 and value.dtype == bool else None


def _branch_taken(whole: WholeGraph, merge: str, given: Mapping[TensorId, float]) -> TensorId | None:
    """Finds the input of a `cond`'s Merge that numbers choose.

    Args:
      whole: the graph.
      merge: the Merge.
      given: {tensor: its number}.

    Returns:
      The input of the branch whose predicate has its value, also of one with another `cond` in it; None where that is
      not known.
    """
    for tensor in whole.graph.inputs(merge):
        sides: dict[TensorId, set[int]] = {}
        for switch in _switches(whole, tensor):
            sides.setdefault(whole.graph.inputs(switch.node)[1], set()).add(switch.output)
        # A `cond` within the branch has values on both of its sides.
        own = {predicate: outputs.pop() for predicate, outputs in sides.items() if len(outputs) == 1}
        values = {predicate: evaluate(whole, predicate, given) for predicate in own}
        known = all(value is not None and bool(value) == bool(own[one]) for one, value in values.items())
        if own and known:
            return tensor
    return None


def _switches(whole: WholeGraph, tensor: TensorId) -> set[TensorId]:
    """The outputs of the Switch nodes by which values enter a branch, and the branches around it."""
    switches: set[TensorId] = set()
    seen, todo = {tensor}, [tensor]
    while todo:
        found = todo.pop()
        before = {TensorId(*one) for one in whole.graph.inputs(found.node)}
        if whole.graph.type(found.node) == "Switch":
            switches.add(found)
            entering = whole.graph.origin(whole.graph.inputs(found.node)[0])
            before = {entering} if whole.graph.type(entering.node) == "Switch" else set()
        todo += before - seen
        seen |= before
    return switches
