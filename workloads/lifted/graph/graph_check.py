"""Checks of a GraphDef from anywhere, before any of it is used: what TensorFlow itself refuses late, or crashes on."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Optional, Set

import tensorflow as tf

from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.graph.library_check import library_problems
from workloads.lifted.graph.old_ops import registered_op
from workloads.lifted.graph.tensor_names import data_inputs
from workloads.support.errors import InputError
from workloads.support.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def require_sound_graph(graph_def: Any, subject: str) -> Graph:
    """Indexes a graph; checks that a graph holds together, by its nodes' names, inputs, attributes and functions.

    Args:
      graph_def: the GraphDef.
      subject: beginning of the message, such as "graph file: 'graph.meta'".

    Returns:
      The graph's index.

    Raises:
      InputError: it does not.
    """
    outputs: Dict[str, Optional[int]] = {}
    problem = next(_node_problems(graph_def, outputs), None)
    if problem is None:
        graph = Graph(graph_def)
        problem = next(_edge_problems(graph, outputs), None)
        if problem is None:
            return graph
    raise InputError(f"{subject}: {problem}")


def _node_problems(graph_def: Any, outputs: Dict[str, Optional[int]]) -> Iterator[str]:
    """Yields the problems of a graph's nodes, one sentence each; each check relies on those before.

    Args:
      graph_def: the GraphDef.
      outputs: {node: number of its outputs, or None where it is not known}; nodes are added as they are checked.
    """
    nodes: Dict[str, Any] = {}
    for node in graph_def.node:
        if not node.name or not node.op:
            yield f"node {node.name!r} ({node.op!r}) lacks its name or its op type"
        if node.name in nodes:
            yield f"two nodes are called {node.name!r}"
        nodes[node.name] = node
    yield from library_problems(graph_def.library)
    definitions: Dict[str, Optional[_Definition]] = {}
    for function in graph_def.library.function:
        definitions[function.signature.name] = _definition(function.signature)
    proper = {name for name in nodes if _DATA_INPUT.fullmatch(name)}
    for name, node in nodes.items():
        yield from _input_problems(node, nodes, proper)
        op_type = node.op
        if op_type not in definitions:
            known_op = registered_op(op_type)
            definitions[op_type] = None if known_op is None else _definition(known_op)
        definition = definitions[op_type]
        outputs[name] = None
        if definition is not None:
            yield from _attribute_problems(node, definition)
            given = len(data_inputs(node))
            expected = _count(node, definition.inputs)
            if expected is not None and given != expected:
                yield f"node {name!r} ({op_type}) has {counted(given, 'input')}, expected {expected}"
            outputs[name] = _count(node, definition.outputs)


def _edge_problems(graph: Graph, outputs: Mapping[str, Optional[int]]) -> Iterator[str]:
    """Yields inputs that are outputs which no node has, and a cycle that is no loop; `outputs` as `_node_problems`."""
    for name in graph.nodes:
        for producer, output in graph.inputs(name):
            known = outputs[producer]
            if known is not None and output >= known:
                text = f"{producer}:{output}"
                yield f"node {name!r} takes {text!r}, but {producer!r} has {known} output(s)"
    try:
        graph.order(graph.nodes)
    except ValueError as error:
        yield f"node {str(error)!r} depends on itself, and not by way of a loop"


class _Attribute(NamedTuple):
    """An attribute that an op type defines; `minimum` is None if it has none."""

    name: str
    kind: str
    has_default: bool
    minimum: Optional[int]


class _Arguments(NamedTuple):
    """Arguments of an op type: the number of single tensors, and the attributes that count the tensors of lists."""

    single: int
    counted_by: List[str]
    typed_by: List[str]


class _Definition(NamedTuple):
    """The checked parts of an OpDef, read once for each op type: a graph has many nodes of each."""

    attributes: List[_Attribute]
    inputs: _Arguments
    outputs: _Arguments


def _definition(op_def: Any) -> _Definition:
    attributes = [
        _Attribute(
            attribute.name,
            attribute.type,
            attribute.HasField("default_value"),
            attribute.minimum if attribute.has_minimum else None,
        )
        for attribute in op_def.attr
    ]
    return _Definition(attributes, _arguments(op_def.input_arg), _arguments(op_def.output_arg))


def _arguments(arguments: Any) -> _Arguments:
    counted = [argument.number_attr for argument in arguments if argument.number_attr]
    typed = [a.type_list_attr for a in arguments if not a.number_attr and a.type_list_attr]
    return _Arguments(len(arguments) - len(counted) - len(typed), counted, typed)


def _input_problems(node: Any, nodes: Mapping[str, Any], proper: Set[str]) -> Iterator[str]:
    """Yields inputs of a node that are no names of nodes, or not in order; the `proper` names are of a node's form."""
    texts = list(node.input)
    data = [text for text in texts if text[:1] != "^"]
    waits_for = [text[1:] for text in texts[len(data) :]]
    if texts[: len(data)] == data and proper.issuperset(data) and proper.issuperset(waits_for):
        return
    controls = False
    for text in texts:
        control = text.startswith("^")
        name = text[1:] if control else text
        if name in proper and not (controls and not control):
            controls = controls or control
            continue
        if not _DATA_INPUT.fullmatch(name) or (control and ":" in name):
            yield f"node {node.name!r} has the input {text[:80]!r}, expected a node's name, or name:number"
        elif parse_tensor_name(name).node not in nodes:
            yield f"node {node.name!r} has the input {text[:80]!r}, and there is no such node"
        elif controls and not control:
            yield f"node {node.name!r} has a data input behind a control input"
        controls = controls or control


def _attribute_problems(node: Any, definition: _Definition) -> Iterator[str]:
    """Yields attributes of a node that are missing, or of another kind than its op type defines."""
    given = dict(node.attr.items())
    for attribute in definition.attributes:
        value, kind = given.get(attribute.name), attribute.kind
        if value is None:
            if not attribute.has_default:
                yield f"node {node.name!r} ({node.op}) lacks the attribute {attribute.name!r}"
            continue
        field = "list" if kind.startswith("list(") else _FIELDS.get(kind)
        if field is not None and value.WhichOneof("value") != field:
            yield f"attribute {attribute.name!r} of node {node.name!r} ({node.op}) is no {kind}"
        elif kind == "type" and not is_dtype(value.type):
            yield f"attribute {attribute.name!r} of node {node.name!r} is no dtype: {value.type}"
        elif kind == "list(type)" and not all(is_dtype(dtype) for dtype in value.list.type):
            yield f"attribute {attribute.name!r} of node {node.name!r} has an entry that is no dtype"
        elif kind == "int" and attribute.minimum is not None and value.i < attribute.minimum:
            yield f"attribute {attribute.name!r} of node {node.name!r} is {value.i}, at least {attribute.minimum}"
        elif kind == "tensor":
            yield from _tensor_problems(node.name, value.tensor)
    if node.op == "Const" and given["value"].tensor.dtype != given["dtype"].type:
        yield f"node {node.name!r} is a constant of another dtype than it says"


def _tensor_problems(name: str, tensor: Any) -> Iterator[str]:
    """Yields the differences between a TensorProto's content and its shape."""
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
            yield f"the tensor of node {name!r} has {counted(given, 'value')}, its shape says {count}"


@functools.lru_cache(maxsize=None)
def is_dtype(number: int) -> bool:
    """Returns whether a number is that of a DataType which tensors can have."""
    try:
        return bool(number) and tf.as_dtype(number) is not None
    except (TypeError, KeyError):
        return False


def _count(node: Any, arguments: _Arguments) -> Optional[int]:
    """Returns the number of tensors that a node's arguments stand for; None if that is unknown."""
    count = arguments.single
    for name in arguments.counted_by:
        if name not in node.attr:
            return None
        number = node.attr[name].i
        if not 0 <= number <= _MOST:
            return _MOST + 1
        count += number
    for name in arguments.typed_by:
        if name not in node.attr:
            return None
        count += len(node.attr[name].list.type)
    return count
