"""Writer of ops that have no function of their own in TensorFlow 2: calls of `tf.raw_ops`."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Dict

import tensorflow as tf
from tensorflow.core.framework import tensor_shape_pb2

from legacy.source.basics.expressions import Name, call
from legacy.source.basics.unwritten import Unwritten

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression
    from legacy.source.ops.view import OpView


def write_raw(op: OpView) -> Expression:
    """Writes an op that has no idiom as a call of `tf.raw_ops`, with the arguments and attributes that it has.

    Raises:
      Unwritten: TensorFlow 2 has no such op, or it runs a function, which no text can name.
    """
    definition = op.operation.op_def
    python = _python_names(op)
    arguments: Dict[str, Any] = {}
    position = 0
    for argument in definition.input_arg:
        if argument.number_attr or argument.type_list_attr:
            count = (
                op.attribute(argument.number_attr)
                if argument.number_attr
                else len(op.attribute(argument.type_list_attr))
            )
            arguments[python[argument.name]] = op.arguments(position, position + count)
            position += count
        else:
            arguments[python[argument.name]] = op.argument(position)
            position += 1
    given = {python.get(name, name): value for name, value in attributes_given(op).items()}
    return call("tf.raw_ops." + op.type, **arguments, **given)


def attributes_given(op: OpView) -> Dict[str, Any]:
    """Returns {attribute of an op: value} of those that are no dtypes or numbers of its inputs, and not the default.

    Raises:
      Unwritten: the op runs a function, which no text can name.
    """
    definition = op.operation.op_def
    of_inputs = {a.number_attr for a in definition.input_arg} | {a.type_attr for a in definition.input_arg}
    of_inputs |= {a.type_list_attr for a in definition.input_arg}
    given = {}
    for attribute in definition.attr:
        if attribute.type in ("func", "list(func)"):
            raise Unwritten(f"model: {op.type} {op.operation.name!r} runs a function of the graph's library")
        if attribute.name not in of_inputs and attribute.name in op.operation.node_def.attr:
            value = op.attribute(attribute.name)
            if not attribute.HasField("default_value") or value != _default(attribute):
                given[attribute.name] = _attribute(value)
    return given


def _python_names(op: OpView) -> Dict[str, str]:
    """Returns {argument of an op: its name in Python}; some are renamed there, in the order of the op's."""
    definition = op.operation.op_def
    own = [argument.name for argument in [*definition.input_arg, *definition.attr]]
    function = getattr(tf.raw_ops, op.type, None)
    if function is None:
        raise Unwritten(f"model: TensorFlow 2 has no op {op.type}, of {op.operation.name!r}")
    python = [name for name in inspect.signature(function).parameters if name != "name"]
    renamed = zip([name for name in own if name not in python], [name for name in python if name not in own])
    return {**{name: name for name in own}, **dict(renamed)}


def _default(attribute: Any) -> Any:
    value = attribute.default_value
    kind = value.WhichOneof("value")
    found = getattr(value, kind) if kind else None
    return found.decode() if isinstance(found, bytes) else found


def _attribute(value: Any) -> Any:
    if hasattr(value, "as_datatype_enum"):
        return Name("tf." + value.name)
    if isinstance(value, tensor_shape_pb2.TensorShapeProto):
        value = tf.TensorShape(value)
    if isinstance(value, tf.TensorShape):
        return value.as_list() if value.rank is not None else None
    if isinstance(value, list):
        return [_attribute(item) for item in value]
    return value
