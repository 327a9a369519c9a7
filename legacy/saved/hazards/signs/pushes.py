"""Directions in which losses push tensors: the signs of derivatives that hold for all data and all weights."""

from __future__ import annotations

import functools
from collections.abc import Collection

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.joins import joined_parts
from legacy.saved.hazards.basics.cross_entropies import cross_entropies, filled
from legacy.saved.hazards.signs.value_signs import ValueSigns
from workloads.lifted.graph import TensorId

#: Ops that hand a derivative on to the values among their inputs, times numbers that are never below 0.
_RISES = (
    *("Identity", "Cast", "Reshape", "Squeeze", "ExpandDims", "Transpose", "Sum", "Mean", "Max", "Min", "Tile", "Pad"),
    *("StridedSlice", "Slice", "SplitV", "Unpack", "GatherV2", "Gather", "CheckNumerics", "Exp", "Log", "Log1p"),
    *("Expm1", "Sqrt", "Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "Sigmoid", "Tanh", "LeakyRelu", "Erf"),
)
_ALL_RISE = ("Add", "AddV2", "AddN", "BiasAdd", "Maximum", "Minimum", "Pack")
_EVEN = ("Square", "Abs", "L2Loss")
#: Ops through which no derivative passes.
_STOPS = (
    *("StopGradient", "Shape", "ShapeN", "Rank", "Size", "ZerosLike", "OnesLike", "ArgMax", "ArgMin", "Floor", "Sign"),
    *("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr", "LogicalNot"),
)


class Pushes:
    """Signs of the derivatives of a sum of targets by the tensors that they are computed from.

    Args:
      whole: the graph.
      targets: nodes that are minimized; their sum is what is differentiated.
    """

    def __init__(self, whole: WholeGraph, targets: Collection[str]) -> None:
        self._whole, self._values = whole, ValueSigns(whole)
        self._entropies = _entropies_of_one_label(whole)
        self._signs: dict[TensorId, int] = {TensorId(target, 0): 1 for target in targets}
        #: Signs of derivatives by magnitudes: of x^2 by |x|.
        self._magnitudes: dict[TensorId, int] = {}
        #: The results of each node by which derivatives are known.
        self._arrived: dict[str, set[TensorId]] = {target: {TensorId(target, 0)} for target in targets}
        members = whole.graph.ancestors(targets, controls=False)
        for name in reversed(whole.graph.order(members)):
            if whole.graph.type(name) not in _STOPS:
                self._visit(name)

    def sign(self, tensor: TensorId) -> int | None:
        """Returns 1 or -1; 0 where it depends on the data or the weights; None where no derivative arrives."""
        signs = {found[tensor] for found in (self._signs, self._magnitudes) if tensor in found}
        if tensor not in self._magnitudes:
            return signs.pop() if signs else None
        own = self._values.of(tensor.node)
        magnitude = self._magnitudes[tensor] * own
        return magnitude if self._signs.get(tensor, magnitude) == magnitude else 0

    def _visit(self, name: str) -> None:
        """Hands the derivatives by a node's results on to its inputs."""
        for tensor in sorted(self._arrived.get(name, ())):
            sign = self.sign(tensor)
            if sign is not None and (sign or tensor not in self._magnitudes):
                self._hand_on(name, sign)
            else:
                self._hand_magnitude_on(name, self._magnitudes[tensor] if tensor not in self._signs else 0)

    def _hand_on(self, name: str, sign: int) -> None:
        graph, values = self._whole.graph, self._values
        kind, inputs = graph.type(name), graph.inputs(name)
        if name in self._entropies:
            logits, direction = self._entropies[name]
            self._add(logits, sign * direction)
        elif kind in _RISES:
            self._add(inputs[0], sign)
        elif kind in ("Split", *op_types.JOINS, "Select", "SelectV2"):
            for tensor in joined_parts(graph, name) or inputs[1:]:
                self._add(tensor, sign)
        elif kind in _ALL_RISE:
            for tensor in inputs:
                self._add(tensor, sign)
        elif kind == "Neg":
            self._add(inputs[0], -sign)
        elif kind == "Sub":
            self._add(inputs[0], sign)
            self._add(inputs[1], -sign)
        elif self._is_even(name):
            self._add_magnitude(inputs[0], sign)
        elif kind == "SquaredDifference":
            for tensor in inputs:
                self._add(tensor, 0)
        elif kind == "Mul":
            self._add(inputs[0], sign * values.of(inputs[1].node))
            self._add(inputs[1], sign * values.of(inputs[0].node))
        elif kind in op_types.QUOTIENTS:
            self._add(inputs[0], sign * values.of(inputs[1].node))
            self._add(inputs[1], -sign * values.of(inputs[0].node))
        elif kind in ("Reciprocal", "Inv", "Rsqrt") or (kind == "Pow" and values.of(inputs[0].node) > 0):
            power = self._whole.value(inputs[1].node) if kind == "Pow" else -1.0
            self._add(inputs[0], sign * (0 if power is None else 1 if power > 0 else -1))
        else:
            for tensor in inputs:
                self._add(tensor, 0)

    def _hand_magnitude_on(self, name: str, sign: int) -> None:
        """Hands on the derivative by the magnitude of a result: products and copies have those of their inputs."""
        kind, inputs = self._whole.graph.type(name), self._whole.graph.inputs(name)
        if kind in ("Identity", "Reshape", "Squeeze", "ExpandDims", "Transpose", "Neg", "StridedSlice"):
            self._add_magnitude(inputs[0], sign)
        elif kind in op_types.JOINS:
            for tensor in joined_parts(self._whole.graph, name):
                self._add_magnitude(tensor, sign)
        elif kind in op_types.SCALINGS:
            self._add_magnitude(inputs[0], sign)
            self._add_magnitude(inputs[1], sign if kind == "Mul" else -sign)
        else:
            for tensor in inputs:
                self._add(tensor, 0)

    def _is_even(self, name: str) -> bool:
        """Whether a node is the same function of x and -x."""
        graph = self._whole.graph
        inputs = [graph.origin(tensor) for tensor in graph.inputs(name)]
        if graph.type(name) == "Mul":
            return inputs[0] == inputs[1]
        return graph.type(name) in _EVEN or (graph.type(name) == "Pow" and self._whole.value(inputs[1].node) == 2)

    def _add(self, tensor: TensorId, sign: int) -> None:
        self._arrived.setdefault(tensor.node, set()).add(tensor)
        found = self._signs.setdefault(tensor, sign)
        self._signs[tensor] = found if found == sign else 0

    def _add_magnitude(self, tensor: TensorId, sign: int) -> None:
        self._arrived.setdefault(tensor.node, set()).add(tensor)
        found = self._magnitudes.setdefault(tensor, sign)
        self._magnitudes[tensor] = found if found == sign else 0


@functools.lru_cache(maxsize=2)
def _entropies_of_one_label(whole: WholeGraph) -> dict[str, tuple[TensorId, int]]:
    """{cross entropy of a sigmoid whose labels are all 0 or all 1: (its logits, the sign of its derivative by them)}.

    It is a sum of terms that have different signs by themselves.
    """
    found = [(one, filled(whole, one.labels.node)) for one in cross_entropies(whole) if one.is_sigmoid]
    return {one.op: (one.logits, 1 if label == 0 else -1) for one, label in found if label in (0, 1)}
