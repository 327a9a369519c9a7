"""Functions of a graph's library, as those of `Defun`: where they run, and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorflow.core.framework.graph_pb2 import GraphDef

#: Attributes of nodes and functions that XLA is to compile, as those of `Defun(compiled=True)`.
_COMPILATION = frozenset({"_XlaCompile", "_XlaScope", "_XlaSeparateCompiledGradients"})


def call_on_any_device(graph_def: GraphDef) -> None:
    """Removes the wish that XLA compiles functions, and devices of the ops in functions: each call has a device.

    XLA compiles what is on one device, and a function of all towers names the one where the first tower defined it.

    Args:
      graph_def: the graph; changed.
    """
    functions = graph_def.library.function
    for function in functions:
        for node in function.node_def:
            node.device = ""
    nodes = [*graph_def.node, *(node for function in functions for node in function.node_def)]
    for owner in [*nodes, *functions]:
        for name in _COMPILATION.intersection(owner.attr):
            del owner.attr[name]


def call_gradient_functions(graph_def: GraphDef) -> None:
    """Replaces each `SymbolicGradient` of a function that has a gradient function by a call of that one.

    This is what the op does; current TensorFlow has it in sessions only.

    Args:
      graph_def: the graph; changed.
    """
    gradients = {one.function_name: one.gradient_func for one in graph_def.library.gradient}
    signatures = {function.signature.name: function.signature for function in graph_def.library.function}
    for node in graph_def.node:
        called = node.attr["f"].func.name if node.op == "SymbolicGradient" else ""
        signature = signatures.get(gradients.get(called, ""))
        if signature is not None and not any(arg.type_attr for arg in signature.input_arg):
            for name in [name for name in node.attr if name != "_class"]:
                del node.attr[name]
            node.op = signature.name
