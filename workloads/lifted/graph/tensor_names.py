"""Names of tensors, "node:0", and of a NodeDef's inputs; what is left out of NodeDefs, such as devices."""

from __future__ import annotations

from typing import Any, List, NamedTuple


class TensorId(NamedTuple):
    """A tensor of a graph: one output of a node.

    Attributes:
      node: name of the node.
      output: number of the output, from 0.
    """

    node: str
    output: int

    @property
    def name(self) -> str:
        """The tensor's name, "node:0"."""
        return tensor_name(self.node, self.output)


def parse_tensor_name(text: str) -> TensorId:
    """Returns the `TensorId` of a tensor's name or of a NodeDef's data input, which leaves out ":0".

    >>> parse_tensor_name("tower_0/split:1")
    TensorId(node='tower_0/split', output=1)
    >>> parse_tensor_name("tower_0/loss").name
    'tower_0/loss:0'
    """
    if ":" not in text:
        return TensorId(text, 0)
    name, _, output = text.partition(":")
    return TensorId(name, int(output))


def tensor_name(node: str, output: int) -> str:
    """Returns a tensor's name, "node:0"."""
    return f"{node}:{output}"


def input_text(tensor: TensorId) -> str:
    """Returns a tensor as a NodeDef's data input names it: without ":0" for a first output.

    >>> input_text(TensorId("a", 0)), input_text(TensorId("a", 1))
    ('a', 'a:1')
    """
    return tensor.node if tensor.output == 0 else tensor.name


def data_inputs(node: Any) -> List[str]:
    """Returns the data inputs of a NodeDef, as it names them, without the nodes that it waits for."""
    return [text for text in node.input if text[:1] != "^"]


def control_inputs(node: Any) -> List[str]:
    """Returns the control inputs of a NodeDef, such as "^a", the nodes that it waits for."""
    return [text for text in node.input if text[:1] == "^"]


def forget_placement(node: Any) -> None:
    """Removes a NodeDef's device, its colocation constraints and its recorded output shapes."""
    node.device = ""
    for attribute in ("_class", "_output_shapes"):
        if attribute in node.attr:
            del node.attr[attribute]


def forget_empty_attributes(graph_def: Any) -> None:
    """Removes attributes without a value from the nodes of a GraphDef.

    Asking a NodeDef for an attribute that it lacks adds such a one, and TensorFlow does not take a graph with it.
    """
    for node in graph_def.node:
        for name in [name for name, value in node.attr.items() if value.WhichOneof("value") is None]:
            del node.attr[name]
