"""Functions of a graph's library, as those of `Defun`: where they run, and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf
from tensorflow.python.framework import function_def_to_graph, graph_to_function_def

if TYPE_CHECKING:
    from tensorflow.core.framework.function_pb2 import FunctionDef
    from tensorflow.core.framework.graph_pb2 import GraphDef

v1 = tf.compat.v1
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
    """Replaces each `SymbolicGradient` of a function by a call of its gradient function, which is made if it has none.

    This is what the op does; current TensorFlow has it in sessions only. It is left where a function calls others, or
    takes any type.

    Args:
      graph_def: the graph; changed.
    """
    gradients = {one.function_name: one.gradient_func for one in graph_def.library.gradient}
    differentiated = {node.attr["f"].func.name for node in graph_def.node if node.op == "SymbolicGradient"}
    known = {function.signature.name for function in graph_def.library.function}
    for function in [
        one for one in graph_def.library.function if one.signature.name in differentiated - gradients.keys()
    ]:
        if not any(node.op in known for node in function.node_def) and not _takes_any_type(function):
            made = _gradient_function(function)
            graph_def.library.function.add().CopyFrom(made)
            gradients[function.signature.name] = made.signature.name
    signatures = {function.signature.name: function.signature for function in graph_def.library.function}
    for node in graph_def.node:
        called = node.attr["f"].func.name if node.op == "SymbolicGradient" else ""
        signature = signatures.get(gradients.get(called, ""))
        if signature is not None and not any(arg.type_attr for arg in signature.input_arg):
            for name in [name for name in node.attr if name != "_class"]:
                del node.attr[name]
            node.op = signature.name


def _takes_any_type(function: FunctionDef) -> bool:
    arguments = [*function.signature.input_arg, *function.signature.output_arg]
    return any(argument.type_attr or argument.number_attr or argument.type_list_attr for argument in arguments)


def _gradient_function(function: FunctionDef) -> FunctionDef:
    """Returns the function of inputs, and of gradients to outputs, that gives the gradients to the inputs."""
    graph = function_def_to_graph.function_def_to_graph(function)
    with graph.as_default():
        outputs = [output for output in graph.outputs if output.dtype.is_floating]
        given = {output.ref(): v1.placeholder(output.dtype, output.shape) for output in graph.outputs}
        found = tf.gradients(outputs, graph.inputs, [given[output.ref()] for output in outputs])
        made = [
            tf.zeros_like(one) if gradient is None else tf.convert_to_tensor(gradient)
            for one, gradient in zip(graph.inputs, found)
        ]
    inputs = [*graph.inputs, *(given[output.ref()] for output in graph.outputs)]
    operations = [op for op in graph.get_operations() if op not in {tensor.op for tensor in inputs}]
    result: FunctionDef = graph_to_function_def.graph_to_function_def(graph, operations, inputs, made)
    result.signature.name = f"{function.signature.name}_symbolic_gradient"
    return result
