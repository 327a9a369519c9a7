"""Checks of a GraphDef from anywhere, before any of it is used: what TensorFlow itself refuses late, or crashes on."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Set

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

#: A data input of a NodeDef: a node's name, and the number of an output.
_DATA_INPUT = re.compile(r"[A-Za-z0-9.>_][A-Za-z0-9_.\\/>-]*(:[0-9]{1,6})?")
#: Kinds of attributes in an OpDef, and the field of an AttrValue that holds each.
_FIELDS = {
    "string": "s",
    "int": "i",
    "float": "f",
    "bool": "b",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}
#: The most outputs, or inputs, of one node.
_MOST = 1 << 16


def require_sound_graph(graph_def: Any, subject: str) -> None:
    """Checks that a graph holds together, by its nodes' names, inputs, attributes and functions.

    Args:
      graph_def: the GraphDef.
      subject: beginning of the message, such as "graph file: 'graph.meta'".

    Raises:
      InputError: it does not.
    """
    problem = next(_problems(graph_def), None)
    if problem is not None:
        raise InputError(f"{subject}: {problem}")


def _problems(graph_def: Any) -> Iterator[str]:
    """Yields what is wrong with a graph, one sentence each; each check relies on those before."""
    nodes: Dict[str, Any] = {}
    for node in graph_def.node:
        if not node.name or not node.op:
            yield f"node {node.name!r} ({node.op!r}) lacks its name or its op type"
        if node.name in nodes:
            yield f"two nodes are called {node.name!r}"
        nodes[node.name] = node
    yield from _function_problems(graph_def.library)
    functions = {function.signature.name: function.signature for function in graph_def.library.function}
    outputs: Dict[str, Optional[int]] = {}
    for name, node in nodes.items():
        yield from _input_problems(node, nodes)
        definition = functions.get(node.op) or op_def_registry.get(node.op)
        outputs[name] = None
        if definition is not None:
            yield from _attribute_problems(node, definition)
            given = sum(1 for text in node.input if not text.startswith("^"))
            expected = _count(node, definition.input_arg)
            if expected is not None and given != expected:
                yield f"node {name!r} ({node.op}) has {given} inputs, expected {expected}"
            outputs[name] = _count(node, definition.output_arg)
    for name, node in nodes.items():
        for text in node.input:
            producer, output = parse_tensor_name(text.lstrip("^"))
            known = outputs[producer]
            if not text.startswith("^") and known is not None and output >= known:
                yield f"node {name!r} takes {text!r}, but {producer!r} has {known} output(s)"
    graph = Graph(graph_def)
    try:
        graph.order(list(nodes))
    except ValueError as error:
        yield f"node {str(error)!r} depends on itself, and not by way of a loop"


def _input_problems(node: Any, nodes: Mapping[str, Any]) -> Iterator[str]:
    """Yields inputs of a node that are no names of nodes, or not in order."""
    controls = False
    for text in node.input:
        control = text.startswith("^")
        name = text[1:] if control else text
        if not _DATA_INPUT.fullmatch(name) or (control and ":" in name):
            yield f"node {node.name!r} has the input {text[:80]!r}, expected a node's name, or name:number"
        elif parse_tensor_name(name).node not in nodes:
            yield f"node {node.name!r} has the input {text[:80]!r}, and there is no such node"
        elif controls and not control:
            yield f"node {node.name!r} has a data input behind a control input"
        controls = controls or control


def _attribute_problems(node: Any, definition: Any) -> Iterator[str]:
    """Yields attributes of a node that are missing, or of another kind than its op type defines."""
    for attribute in definition.attr:
        if attribute.name not in node.attr:
            if not attribute.HasField("default_value"):
                yield f"node {node.name!r} ({node.op}) lacks the attribute {attribute.name!r}"
            continue
        value, kind = node.attr[attribute.name], attribute.type
        field = "list" if kind.startswith("list(") else _FIELDS.get(kind)
        if field is not None and value.WhichOneof("value") != field:
            yield f"attribute {attribute.name!r} of node {node.name!r} ({node.op}) is no {kind}"
        elif kind == "type" and not is_dtype(value.type):
            yield f"attribute {attribute.name!r} of node {node.name!r} is no dtype: {value.type}"
        elif kind == "list(type)" and not all(is_dtype(dtype) for dtype in value.list.type):
            yield f"attribute {attribute.name!r} of node {node.name!r} has an entry that is no dtype"
        elif kind == "int" and attribute.has_minimum and value.i < attribute.minimum:
            yield f"attribute {attribute.name!r} of node {node.name!r} is {value.i}, at least {attribute.minimum}"
        elif kind == "tensor":
            yield from _tensor_problems(node.name, value.tensor)
    if node.op == "Const" and node.attr["value"].tensor.dtype != node.attr["dtype"].type:
        yield f"node {node.name!r} is a constant of another dtype than it says"


def _tensor_problems(name: str, tensor: Any) -> Iterator[str]:
    """Yields in what a TensorProto's content is not of its shape."""
    if not is_dtype(tensor.dtype):
        yield f"the tensor of node {name!r} is of no dtype: {tensor.dtype}"
        return
    count = 1
    for dimension in tensor.tensor_shape.dim:
        if dimension.size < 0:
            yield f"the tensor of node {name!r} has a dimension of {dimension.size}"
        count *= max(0, dimension.size)
    dtype = tf.as_dtype(tensor.dtype)
    if tensor.tensor_content:
        size = count * dtype.size if dtype != tf.string else None
        if size != len(tensor.tensor_content):
            yield f"the tensor of node {name!r} has {len(tensor.tensor_content)} bytes, its shape says {size}"
    else:
        given = max((len(value) for field, value in tensor.ListFields() if field.name.endswith("_val")), default=0)
        if given > count * (2 if dtype.is_complex else 1) or (given == 0 and count > 0 and dtype == tf.string):
            yield f"the tensor of node {name!r} has {given} values, its shape says {count}"


def is_dtype(number: int) -> bool:
    """Returns whether a number is that of a DataType which tensors can have."""
    try:
        return bool(number) and tf.as_dtype(number) is not None
    except (TypeError, KeyError):
        return False


def _count(node: Any, arguments: Any) -> Optional[int]:
    """Returns the number of tensors that a node's arguments stand for; None if it is not to be told."""
    count = 0
    for argument in arguments:
        if argument.number_attr:
            if argument.number_attr not in node.attr:
                return None
            number = node.attr[argument.number_attr].i
            if not 0 <= number <= _MOST:
                return _MOST + 1
            count += number
        elif argument.type_list_attr:
            if argument.type_list_attr not in node.attr:
                return None
            count += len(node.attr[argument.type_list_attr].list.type)
        else:
            count += 1
    return count


def _function_problems(library: Any) -> Iterator[str]:
    """Yields functions that are called alike, or that call themselves: TensorFlow expands them without end."""
    calls: Dict[str, Set[str]] = {}
    names = {function.signature.name for function in library.function}
    for function in library.function:
        name = function.signature.name
        if not name or name in calls:
            yield f"two functions of its library are called {name!r}, or one is not called anything"
        calls[name] = {callee for node in function.node_def for callee in _called(node, names)}
    for gradient in library.gradient:
        calls.setdefault(gradient.function_name, set()).add(gradient.gradient_func)
    recursive = _on_a_cycle(calls)
    if recursive is not None:
        yield f"function {recursive!r} of its library calls itself, directly or by way of others"


def _called(node: Any, names: Collection[str]) -> Iterator[str]:
    """Yields the functions of a library that a node calls."""
    if node.op in names:
        yield node.op
    for value in node.attr.values():
        for function in [value.func] if value.WhichOneof("value") == "func" else value.list.func:
            if function.name in names:
                yield function.name


def _on_a_cycle(calls: Mapping[str, Set[str]]) -> Optional[str]:
    """Returns a node on a cycle of a graph {node: the nodes after it}; None if there is no cycle."""
    waits: Dict[str, int] = {name: 0 for name in calls}
    for after in calls.values():
        for name in after:
            if name in waits:
                waits[name] += 1
    ready: List[str] = [name for name, count in waits.items() if count == 0]
    done = 0
    while ready:
        done += 1
        for name in calls[ready.pop()]:
            if name in waits:
                waits[name] -= 1
                if waits[name] == 0:
                    ready.append(name)
    return None if done == len(waits) else next(name for name, count in waits.items() if count > 0)
