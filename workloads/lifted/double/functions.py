"""Copies of a graph's functions in float64.

A function's body names its tensors "node:argument:place". Here it is written as a graph, whose tensors are
"node:output", and back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List

import tensorflow as tf
from tensorflow.core.framework import function_pb2

from workloads.lifted.double.graph_rewriter import GraphRewriter
from workloads.lifted.double.signatures import WIDER, Signatures, fill_defaults
from workloads.lifted.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Sequence

v1 = tf.compat.v1

_SUFFIX = "_in_float64"


class FunctionLibrary:
    """The functions of a graph, and their copies in float64, which are made when they are asked for.

    Args:
      library: the FunctionDefLibrary.

    Attributes:
      signatures: of TensorFlow's ops and of the functions.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        self._functions: Dict[str, Any] = {function.signature.name: function for function in library.function}
        self._gradients = {entry.function_name: entry.gradient_func for entry in library.gradient}
        self._copies: Dict[str, Any] = {}
        self._more: List[Any] = []
        self.signatures = Signatures(self._functions)

    def double(self, name: str) -> str:
        """Returns the name of a function's copy in float64.

        Raises:
          NotInDouble: a node of it has no form in float64.
        """
        wanted = name + _SUFFIX
        if wanted not in self._copies and name in self._functions:
            copy = self._copies[wanted] = self._functions[wanted] = function_pb2.FunctionDef()
            copy.CopyFrom(self._functions[name])
            copy.signature.name = wanted
            for argument in list(copy.signature.input_arg) + list(copy.signature.output_arg):
                argument.type = WIDER.get(argument.type, argument.type)
            self._rewrite(copy, self._functions[name])
            if name in self._gradients:
                self._gradients[wanted] = self.double(self._gradients[name])
        return wanted if wanted in self._copies else name

    def add(self, functions: Sequence[Any]) -> None:
        """Adds functions that formulas call."""
        self._more += functions

    def result(self) -> Any:
        """Returns the FunctionDefLibrary with the copies."""
        made = function_pb2.FunctionDefLibrary()
        made.CopyFrom(self._library)
        made.function.extend([*self._copies.values(), *self._more])
        for name in self._copies:
            if name in self._gradients:
                made.gradient.add(function_name=name, gradient_func=self._gradients[name])
        return made

    def _rewrite(self, copy: Any, function: Any) -> None:
        """Rewrites the body of a copy of `function`."""
        body = Body(function, self.signatures)
        wanted = {node.name for node in function.node_def}
        arguments = {argument.name for argument in function.signature.input_arg}
        graph = Graph(body.graph_def(copy.signature))
        rewritten = GraphRewriter(graph, self.signatures, self.double, wanted, varying=wanted | arguments).rewrite()
        self.add(rewritten.functions)
        del copy.node_def[:]
        texts = _TextsOfBody([node for node in rewritten.nodes if node.name not in arguments], self.signatures)
        copy.node_def.extend(texts.node(node) for node in rewritten.nodes if node.name not in arguments)
        for output, text in function.ret.items():
            copy.ret[output] = texts.tensor(body.tensor(text))


class Body:
    """A function's body as a graph.

    Args:
      function: the FunctionDef.
      signatures: of its ops.

    Attributes:
      function: the FunctionDef.
    """

    def __init__(self, function: Any, signatures: Signatures) -> None:
        self.function = function
        self._places: Dict[str, Dict[str, int]] = {}
        for node in function.node_def:
            complete = v1.NodeDef()
            complete.CopyFrom(node)
            fill_defaults(complete, signatures.definition(node.op))
            outputs = self._places[node.name] = {}
            for place, output in enumerate(signatures.outputs(complete)):
                outputs.setdefault(output.argument, place)

    def graph_def(self, signature: Any | None = None) -> Any:
        """Returns the GraphDef: arguments first, as placeholders of the types in `signature`, or in its own."""
        made = v1.GraphDef()
        for argument in (signature or self.function.signature).input_arg:
            made.node.add(name=argument.name, op="Placeholder").attr["dtype"].type = argument.type
        for node in self.function.node_def:
            copy = made.node.add()
            copy.CopyFrom(node)
            copy.input[:] = [text if text.startswith("^") else self.tensor(text) for text in node.input]
        return made

    def results(self) -> List[str]:
        """Returns the names in the graph of the function's outputs, in order."""
        return [self.tensor(self.function.ret[output.name]) for output in self.function.signature.output_arg]

    def tensor(self, text: str) -> str:
        """Returns the name in a graph of a tensor of the body."""
        name, _, rest = text.partition(":")
        if not rest:
            return name
        argument, _, place = rest.partition(":")
        return f"{name}:{self._places[name][argument] + int(place or 0)}"


class _TextsOfBody:
    """The texts by which the nodes of a body name each other.

    Args:
      nodes: the NodeDefs, as in a graph.
      signatures: of their ops.
    """

    def __init__(self, nodes: Sequence[Any], signatures: Signatures) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._signatures = signatures

    def node(self, node: Any) -> Any:
        """Returns a NodeDef as it stands in a body."""
        copy = v1.NodeDef()
        copy.CopyFrom(node)
        copy.input[:] = [text if text.startswith("^") else self.tensor(text) for text in node.input]
        return copy

    def tensor(self, text: str) -> str:
        """Returns the text of a tensor of the graph."""
        name, _, place = text.partition(":")
        if name not in self._nodes:
            return name
        node = v1.NodeDef()
        node.CopyFrom(self._nodes[name])
        fill_defaults(node, self._signatures.definition(node.op))
        output = self._signatures.outputs(node)[int(place or 0)]
        return f"{name}:{output.argument}:{output.place}"
