"""Signatures of nodes: the dtypes of their inputs and outputs, and whether there is a kernel for them.

Dtypes are numbers of the `DataType` enumeration, as in a NodeDef.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, List, NamedTuple, Tuple

from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import kernels

from workloads.lifted.graph.old_ops import registered_op
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: {floating or complex dtype: the one that takes its place}.
WIDER = {
    types_pb2.DT_HALF: types_pb2.DT_DOUBLE,
    types_pb2.DT_BFLOAT16: types_pb2.DT_DOUBLE,
    types_pb2.DT_FLOAT: types_pb2.DT_DOUBLE,
    types_pb2.DT_COMPLEX64: types_pb2.DT_COMPLEX128,
}
#: Distance between a dtype and the reference to a variable of it.
_REFERENCE = types_pb2.DT_FLOAT_REF - types_pb2.DT_FLOAT


class Output(NamedTuple):
    """One output of a node.

    Attributes:
      argument: name of the op's output argument.
      place: position of the output within the argument.
      dtype: its dtype.
    """

    argument: str
    place: int
    dtype: int


class Signatures:
    """Op definitions: TensorFlow's own, and those of a graph's functions.

    Args:
      functions: {name: FunctionDef}.
    """

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions = functions

    def is_function(self, op: str) -> bool:
        """Returns whether an op is a function of the graph."""
        return op in self._functions

    def knows(self, op: str) -> bool:
        """Returns whether an op has a definition."""
        return self.is_function(op) or registered_op(op) is not None

    def definition(self, op: str) -> Any:
        """Returns the OpDef of an op or a function.

        Raises:
          InputError: this TensorFlow does not know the op.
        """
        if op in self._functions:
            return self._functions[op].signature
        definition = registered_op(op)
        if definition is None:
            raise InputError(f"lift: the op {op} is not known to this TensorFlow")
        return definition

    def inputs(self, node: Any) -> list[int]:
        """Returns the dtypes of a NodeDef's data inputs."""
        return [output.dtype for output in _arguments(node, self.definition(node.op).input_arg)]

    def outputs(self, node: Any) -> list[Output]:
        """Returns the outputs of a NodeDef."""
        return _arguments(node, self.definition(node.op).output_arg)

    def has_fixed_floats(self, op: str) -> bool:
        """Returns whether an op has inputs or outputs that are floats of one precision, whatever its attributes."""
        definition = self.definition(op)
        return any(argument.type in WIDER for argument in list(definition.input_arg) + list(definition.output_arg))


def base_dtype(dtype: int) -> int:
    """Returns the dtype of a reference's variable; any other dtype itself."""
    return dtype - _REFERENCE if dtype > _REFERENCE else dtype


def has_kernel(node: Any, definition: Any) -> bool:
    """Returns whether the CPU has a kernel for a NodeDef with its attributes, all of which are allowed."""
    for attribute in definition.attr:
        allowed = set(attribute.allowed_values.list.type)
        if allowed and attribute.name in node.attr and not allowed.issuperset(dtypes_of(node.attr[attribute.name])):
            return False
    return any(
        all(allowed.issuperset(dtypes_of(node.attr[name])) for name, allowed in constraints if name in node.attr)
        for constraints in _kernel_constraints(node.op)
    )


def dtypes_of(attribute: Any) -> list[int]:
    """Returns the dtypes that an attribute holds: one, a list, or none."""
    kind = attribute.WhichOneof("value")
    if kind == "type":
        return [attribute.type]
    return list(attribute.list.type) if kind == "list" else []


def fill_defaults(node: Any, definition: Any) -> None:
    """Gives a NodeDef the attributes that it leaves out because they are the default."""
    for attribute in definition.attr:
        if attribute.name not in node.attr and attribute.HasField("default_value"):
            node.attr[attribute.name].CopyFrom(attribute.default_value)


def _arguments(node: Any, arguments: Iterable[Any]) -> List[Output]:
    found: List[Output] = []
    for argument in arguments:
        if argument.type_list_attr:
            dtypes = list(node.attr[argument.type_list_attr].list.type)
        else:
            dtype = argument.type or node.attr[argument.type_attr].type
            dtypes = [dtype] * (node.attr[argument.number_attr].i if argument.number_attr else 1)
        found += [Output(argument.name, place, dtype) for place, dtype in enumerate(dtypes)]
    return found


@functools.lru_cache(maxsize=None)
def _kernel_constraints(op: str) -> Tuple[Tuple[Tuple[str, frozenset[int]], ...], ...]:
    """Returns, for each of the CPU's kernels of an op, (attribute, allowed dtypes) of its constraints."""
    found = []
    for kernel in kernels.get_registered_kernels_for_op(op).kernel:
        if kernel.device_type in ("CPU", "DEFAULT") and not kernel.label:
            found.append(tuple((c.name, frozenset(c.allowed_values.list.type)) for c in kernel.constraint))
    return tuple(found)
