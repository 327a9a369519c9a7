"""Nodes that are a function of one tensor's elements and of constants, such as the loss of an error, as numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from legacy.saved.facts.basics.whole_graph import WholeGraph
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: {op type: the function of its inputs}.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Add": np.add,
    "AddV2": np.add,
    "AddN": lambda *terms: sum(terms),
    "Cast": lambda value: np.asarray(value, np.float64),
    "Div": np.divide,
    "Exp": np.exp,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "Identity": lambda value: value,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "Log": np.log,
    "LogicalAnd": np.logical_and,
    "LogicalNot": np.logical_not,
    "LogicalOr": np.logical_or,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Mul": np.multiply,
    "Neg": np.negative,
    "OnesLike": np.ones_like,
    "Pow": np.power,
    "RealDiv": np.divide,
    "Relu": lambda value: np.maximum(value, 0.0),
    "Reshape": lambda value, _: value,
    "Select": np.where,
    "SelectV2": np.where,
    "Sigmoid": lambda value: 1 / (1 + np.exp(-value)),
    "Softplus": lambda value: np.logaddexp(value, 0.0),
    "Sqrt": np.sqrt,
    "Square": np.square,
    "Squeeze": lambda value: value,
    "StopGradient": lambda value: value,
    "Sub": np.subtract,
    "Tanh": np.tanh,
    "ZerosLike": np.zeros_like,
}


def element_values(whole: WholeGraph, source: TensorId, elements: np.ndarray) -> dict[str, np.ndarray]:
    """Evaluates the forward nodes of what is minimized that are functions of a tensor's elements and constants alone.

    Args:
      whole: the graph.
      source: the tensor.
      elements: the numbers that it holds.

    Returns:
      {node: its results}; the tensor's own node is not among them.
    """
    graph = whole.graph
    behind = graph.descendants([source.node], controls=False) & whole.minimized
    found: dict[str, np.ndarray] = {}
    with np.errstate(all="ignore"):
        for name in [name for name in graph.order(behind) if name != source.node and not is_gradient_op(name)]:
            inputs = graph.inputs(name)
            values = [_value(whole, tensor, source, elements, found) for tensor in inputs]
            function = _FUNCTIONS.get(graph.type(name))
            is_known = all(value is not None for value in values) or (
                graph.type(name) == "Reshape" and values[0] is not None
            )
            if function is not None and is_known:
                found[name] = np.broadcast_to(function(*values), elements.shape)
    return found


def _value(
    whole: WholeGraph, tensor: TensorId, source: TensorId, elements: np.ndarray, found: dict[str, np.ndarray]
) -> np.ndarray | float | None:
    if tensor == source:
        return elements
    return found[tensor.node] if tensor.node in found else whole.value(tensor.node)
