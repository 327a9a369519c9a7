"""Parts of a graph that are made of constants alone: where they end, and their values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph, forget_placement, parse_tensor_name
from workloads.lifted.graph.tensor_names import data_inputs

#: Words in the types of ops whose results vary, whatever they are computed from.
_VARYING = ("Variable", "Placeholder", "Random", "Iterator", "Enter", "Switch", "Stateless", "VarHandleOp")


class ConstantParts:
    """The parts of one graph that are made of constants alone.

    Args:
      graph: index of the graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[str, bool] = {}

    def has(self, name: str) -> bool:
        """Returns whether a node is made of constants alone."""
        if name not in self._known:
            kinds = {self._graph.type(node) for node in self._graph.ancestors([name], controls=False)}
            self._known[name] = not any(word in kind for kind in kinds for word in _VARYING)
        return self._known[name]

    def frontier(self, node: str) -> set[str]:
        """Returns the tensors made of constants alone, a constant `node` among them, that others read.

        There are none if others read `node` itself.
        """
        frontier, todo, seen = set(), [node], set()
        while todo:
            name = todo.pop()
            for use in self._graph.users(name):
                if not self.has(use.node):
                    if name == node:
                        return set()
                    frontier.add(f"{name}:{use.output}")
                elif use.node not in seen:
                    seen.add(use.node)
                    todo.append(use.node)
        return frontier

    def is_zero_factor(self, name: str) -> bool:
        """Returns whether a node is a factor, made of constants alone, and zero."""
        factor = any(self._graph.type(use.node) in ("Mul", "MatMul") for use in self._graph.users(name))
        if not factor or not self.has(name):
            return False
        [value] = self.values([name + ":0"], {})
        return np.asarray(value).dtype.kind == "f" and not np.any(value)

    def values(self, names: list[str], replaced: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Returns the values of tensors, without the ops that the graph runs before it computes them.

        Args:
          names: of the tensors.
          replaced: {tensor: value} of constants that have another one.
        """
        part = tf.compat.v1.GraphDef(versions=self._graph.graph_def.versions)
        for member in self._graph.ancestors({parse_tensor_name(name).node for name in names}, controls=False):
            node = part.node.add()
            node.CopyFrom(self._graph.nodes[member])
            forget_placement(node)
            node.input[:] = data_inputs(node)
        members = {node.name for node in part.node}
        feed = {name: value for name, value in replaced.items() if parse_tensor_name(name).node in members}
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            tf.import_graph_def(part, name="")
            return list(session.run(names, feed))
