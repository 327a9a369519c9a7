"""A graph as TensorFlow sees it after import: static shapes, dtypes, constant values and op definitions."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph, forget_placement, tensor_name
from workloads.support.errors import InputError

if TYPE_CHECKING:
    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.framework.node_def_pb2 import NodeDef
    from tensorflow.core.framework.op_def_pb2 import OpDef

v1 = tf.compat.v1

#: The largest tensor whose value is computed: shapes, axes, factors, small tables.
MOST_ELEMENTS = 1 << 24


def without_placement(graph: Graph) -> GraphDef:
    """Returns a copy of a graph's GraphDef without devices, for this machine to place."""
    plain = v1.GraphDef()
    plain.CopyFrom(graph.graph_def)
    for node in plain.node:
        forget_placement(node)
    return plain


class ImportedGraph:
    """A graph imported into TensorFlow, without devices and control inputs. Nodes keep their names.

    Of a node that the graph lacks neither shape nor value is known: a check of the whole graph may ask for those of a
    node that no step runs.

    Args:
      graph: every op type in it must be known here; see `cone.require_known`.

    Raises:
      InputError: TensorFlow refuses the graph; the message says why.
    """

    def __init__(self, graph: Graph) -> None:
        self._names = graph.nodes.keys()
        plain = without_placement(graph)
        copies = _copying_functions(plain)
        for node in plain.node:  # shapes and dtypes need no control inputs, of which a graph may have a million
            del node.input[len(graph.inputs(node.name)) :]
            if node.op == "Variable" and not node.attr["shape"].shape.unknown_rank:
                node.op = "VariableV2"  # of which a shape without dimensions is a scalar, and not an unknown shape
            if node.op in copies:
                _make_identity(node, copies[node.op])
        self.tf_graph = tf.Graph()
        try:
            with self.tf_graph.as_default():
                tf.import_graph_def(plain, name="")
        except (ValueError, tf.errors.OpError) as error:
            reason = re.sub(r"\s+", " ", str(error))[:300]
            raise InputError(f"graph file: TensorFlow {tf.__version__} does not take this graph: {reason}") from error

    def shape(self, name: str, output: int = 0) -> tuple[int | None, ...] | None:
        """Returns an output's static shape, with None for unknown dimensions; None for an unknown rank."""
        if name not in self._names:
            return None
        shape = self._operation(name).outputs[output].shape
        return None if shape.rank is None else tuple(shape.as_list())

    def dtype(self, name: str, output: int = 0) -> str:
        """Returns the name of an output's base dtype: "float32" for a reference to a float32 variable too."""
        return self._operation(name).outputs[output].dtype.base_dtype.name

    def constant(self, name: str, output: int = 0) -> np.ndarray | None:
        """Returns an output's value if it can be computed without running the graph, or None; not of large ones."""
        if name not in self._names:
            return None
        shape = self.shape(name, output)
        if shape is not None and np.prod([size or 0 for size in shape], dtype=np.float64) > MOST_ELEMENTS:
            return None
        return tf.get_static_value(self.tf_graph.get_tensor_by_name(tensor_name(name, output)))

    def outputs(self, name: str) -> int:
        """Returns the number of a node's outputs."""
        return len(self._operation(name).outputs)

    def definition(self, name: str) -> OpDef:
        """Returns the definition of a node's op type."""
        return self._operation(name).op_def

    def takes_reference(self, name: str, position: int) -> bool:
        """Returns whether a data input takes a reference to a variable, or its handle, and not its value."""
        dtype = self._operation(name).inputs[position].dtype
        if dtype == tf.resource:
            return True
        return dtype._is_ref_dtype and _wants_reference(self.definition(name), position)

    def _operation(self, name: str) -> tf.Operation:
        return self.tf_graph.get_operation_by_name(name)


@functools.lru_cache(maxsize=2)
def imported_graph(graph: Graph) -> ImportedGraph:
    """Returns a graph imported into TensorFlow; of a graph that was asked for lately, the same import, to read only.

    An import of ten thousand nodes takes seconds, and the parts of a source ask for it many times.
    """
    return ImportedGraph(graph)


def _copying_functions(graph_def: GraphDef) -> dict[str, int]:
    """Returns {function of the library that gives its only argument as it is: the argument's dtype}.

    It is there for a gradient of its own, as `ConvertGradientToTensor` of tensor2tensor. The import does not know the
    shape of a function's result.
    """
    copies = {}
    for function in graph_def.library.function:
        arguments = function.signature.input_arg
        if len(arguments) == 1 and arguments[0].type and list(function.ret.values()) == [arguments[0].name]:
            copies[function.signature.name] = arguments[0].type
    return copies


def _make_identity(node: NodeDef, dtype: int) -> None:
    """Makes a node an `Identity` of its input."""
    node.op = "Identity"
    node.attr.clear()
    node.attr["T"].type = dtype


def _wants_reference(definition: OpDef, position: int) -> bool:
    """Returns whether input number `position` is declared a reference.

    Lists of inputs come after the references, but for a Merge, which takes a list of them.
    """
    arguments = definition.input_arg
    argument = arguments[min(position, len(arguments) - 1)]
    return argument.is_ref and (position < len(arguments) or bool(argument.number_attr))
