"""Changes of graphs: a copy whose nodes may be changed, new constants, copies of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional

import numpy as np
import tensorflow as tf

from workloads.lifted.graph.graph import Graph
from workloads.lifted.graph.tensor_names import TensorId, forget_placement, input_text

if TYPE_CHECKING:
    from collections.abc import Iterable

v1 = tf.compat.v1


class GraphCopy:
    """A copy of a graph, whose nodes may be changed.

    Args:
      graph: the graph.

    Attributes:
      graph_def: the GraphDef of the copy.
      nodes: {name: NodeDef} of the copy, with the nodes that were added.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph_def = v1.GraphDef()
        self.graph_def.CopyFrom(graph.graph_def)
        self.nodes: Dict[str, Any] = {node.name: node for node in self.graph_def.node}

    def add(self, name: str, op: str, inputs: Iterable[str] = (), device: str = "") -> Any:
        """Adds a node without attributes.

        Args:
          name: of the node.
          op: its type.
          inputs: as a NodeDef names them.
          device: of the node.

        Returns:
          The NodeDef.
        """
        self.nodes[name] = self.graph_def.node.add(name=name, op=op, input=inputs, device=device)
        return self.nodes[name]

    def add_copy(self, node: Any, name: Optional[str] = None) -> Any:
        """Adds a copy of a NodeDef, under another name if one is given; returns it."""
        copy = self.graph_def.node.add()
        copy.CopyFrom(node)
        copy.name = name or node.name
        self.nodes[copy.name] = copy
        return copy

    def add_constant(self, name: str, value: np.ndarray, device: str = "") -> str:
        """Adds a constant.

        Args:
          name: of the node.
          value: array or scalar of numpy, of the constant's dtype.
          device: of the node.

        Returns:
          The name.
        """
        self.nodes[name] = add_constant(self.graph_def, name, value, device=device)
        return name

    def add_missing(self, nodes: Iterable[Any]) -> None:
        """Adds copies of NodeDefs, but for those whose names are in the graph already."""
        for node in nodes:
            if node.name not in self.nodes:
                self.add_copy(node)

    def give(self, name: str, position: int, tensor: TensorId) -> None:
        """Gives a node another tensor for one of its inputs.

        Args:
          name: of the node.
          position: of the input.
          tensor: the tensor.
        """
        self.nodes[name].input[position] = input_text(tensor)

    def graph(self) -> Graph:
        """Returns the graph as it is now."""
        return Graph(self.graph_def)


def add_constant(
    graph_def: Any, name: str, value: np.ndarray | float, dtype: tf.DType | int | None = None, device: str = ""
) -> Any:
    """Adds a constant to a GraphDef.

    Args:
      graph_def: the GraphDef.
      name: of the node.
      value: array or number.
      dtype: of the constant; that of the array if it is not given.
      device: of the node.

    Returns:
      The NodeDef.
    """
    node = graph_def.node.add(name=name, op="Const", device=device)
    tensor = v1.make_tensor_proto(value, dtype)
    node.attr["dtype"].type = tensor.dtype
    node.attr["value"].tensor.CopyFrom(tensor)
    return node


def unplaced_copy(node: Any, name: str) -> Any:
    """Returns a copy of a NodeDef under another name, without its device and colocation."""
    copy = v1.NodeDef()
    copy.CopyFrom(node)
    forget_placement(copy)
    copy.name = name
    return copy
