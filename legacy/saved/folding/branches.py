"""The branches of a graph that decided predicates rule out, and what takes the place of the switches before others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from legacy.saved.folding.decided import outcome, scalar_number
from legacy.saved.graph.op_types import VARIABLES
from workloads.lifted.graph import MERGES, TWO_WAY_SWITCHES, Graph, TensorId

#: At least the number of outputs of any op that can be inside a branch.
OUTPUTS = 64
_FLOATS = [dtype.as_datatype_enum for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16)]


class Branches:
    """The parts of a graph that decided predicates rule out.

    Args:
      graph: the graph.
      predicates: {tensor: its truth}.

    Attributes:
      dead: outputs that are never computed.
      replaced: {output of a Switch, Merge or Select: the tensor that takes its place}.
      numbers: {node that takes the place of a Merge's second output: its value}.
      truths: {node that takes the place of a Switch of its own predicate: its value}, where that is a variable's.
        Such a Switch gives the pivot of a branch, which only controls others: the variable is not read for it.
      copies: {node that takes the place of a Switch: the Switch}, where the branch and others use the same numbers.
        The gradients of a branch's uses are added before those of others, as they are behind an Identity.
    """

    def __init__(self, graph: Graph, predicates: Mapping[TensorId, bool]) -> None:
        self._graph = graph
        self.dead: set[TensorId] = set()
        self.replaced: dict[TensorId, TensorId] = {}
        self.numbers: dict[str, int] = {}
        self.truths: dict[str, bool] = {}
        self.copies: dict[str, str] = {}
        self._decided: dict[TensorId, Any] = dict(predicates)
        for name in graph.order(set(graph.nodes)):
            op_type, inputs = graph.type(name), graph.inputs(name)
            if op_type in TWO_WAY_SWITCHES and isinstance(self._decided.get(inputs[1]), bool):
                self._decide_switch(name, inputs[0], int(self._decided[inputs[1]]))
            elif op_type in MERGES and any(tensor in self.dead for tensor in inputs):
                self._decide_merge(name, [tensor for tensor in inputs if tensor not in self.dead])
            elif op_type == "Select" and isinstance(self._decided.get(inputs[0]), bool):
                self.replaced[TensorId(name, 0)] = inputs[1 if self._decided[inputs[0]] else 2]
            elif self._needs_dead(name):
                self.dead |= {TensorId(name, output) for output in range(OUTPUTS)}
            elif self.numbers and any(tensor in self._decided for tensor in inputs):
                self._decide_value(name)

    def _decide_switch(self, name: str, data: TensorId, taken: int) -> None:
        self.dead.add(TensorId(name, 1 - taken))
        self.replaced[TensorId(name, taken)] = data
        if data in self.dead:
            self.dead.add(TensorId(name, taken))
        elif isinstance(self._decided.get(data), bool) and self._graph.type(self._graph.origin(data).node) in VARIABLES:
            truth = self._new_name(name + "/value")
            self.truths[truth] = self._decided[data]
            self.replaced[TensorId(name, taken)] = TensorId(truth, 0)
        elif self._groups_uses(name, data, taken):
            copy = self._new_name(name + "/taken")
            self.copies[copy] = name
            self.replaced[TensorId(name, taken)] = TensorId(copy, 0)

    def _groups_uses(self, name: str, data: TensorId, taken: int) -> bool:
        """Returns whether several ops use floats in a branch, and others use them outside."""
        node = self._graph.nodes[name]
        if node.op != "Switch" or node.attr["T"].type not in _FLOATS:
            return False
        inside = [use for use in self._graph.users(name) if use.output == taken]
        others = [use for use in self._graph.users(data.node) if use.output == data.output and use.node != name]
        return len(inside) > 1 and any(self._graph.type(use.node) not in TWO_WAY_SWITCHES for use in others)

    def _new_name(self, name: str) -> str:
        while name in self._graph.nodes:
            name += "_"
        return name

    def _decide_merge(self, name: str, live: list[TensorId]) -> None:
        if len(live) == 1:
            number = self._new_name(name + "/value_index")
            self.replaced[TensorId(name, 0)] = live[0]
            self.replaced[TensorId(name, 1)] = TensorId(number, 0)
            self.numbers[number] = self._decided[TensorId(name, 1)] = self._graph.inputs(name).index(live[0])
        elif not live:
            self.dead |= {TensorId(name, 0), TensorId(name, 1)}

    def _decide_value(self, name: str) -> None:
        """Computes what a node makes of decided values, such as a comparison of the number of a Merge's input."""
        known = [self._decided.get(t, scalar_number(self._graph, t.node)) for t in self._graph.inputs(name)]
        value = outcome(self._graph.nodes[name], known)
        if value is not None:
            self._decided[TensorId(name, 0)] = value

    def _needs_dead(self, name: str) -> bool:
        """Returns whether a node has a dead data input, or a control input from a dead node."""
        return any(tensor in self.dead for tensor in self._graph.inputs(name)) or any(
            self.is_dead(control) for control in self._graph.controls(name)
        )

    def is_dead(self, name: str) -> bool:
        """Returns whether a node never runs: both of the outputs that any op in a branch may have are dead."""
        return {(name, 0), (name, 1)} <= self.dead

    def is_replaced(self, name: str) -> bool:
        """Returns whether a node is a decided Switch, Merge or Select, which other tensors take the place of."""
        return (name, 0) in self.replaced or (name, 1) in self.replaced

    def final(self, tensor: TensorId) -> TensorId:
        """Returns the tensor that takes the place of a tensor in the end; itself if none does."""
        while tensor in self.replaced:
            tensor = self.replaced[tensor]
        return tensor

    def final_control(self, name: str) -> str | None:
        """Returns the node that takes a node's place as a control input; None if the node never runs."""
        for output in (0, 1):
            if (name, output) in self.replaced:
                return self.final(TensorId(name, output)).node
        return None if self.is_dead(name) else name
