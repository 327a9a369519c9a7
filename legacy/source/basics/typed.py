"""A part of the graph with static shapes, at one batch size, and the constants that follow from these shapes."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Set

import numpy as np
import tensorflow as tf

from legacy.source.basics.branch_sizes import keep_apart, may_differ, take_known_branches, with_merges
from legacy.source.basics.branches import OF_BRANCHES
from workloads.lifted.graph import forget_placement
from workloads.lifted.graph.edits import add_constant
from workloads.lifted.graph.importing import import_graph
from workloads.support.errors import InputError

v1 = tf.compat.v1

#: The largest constant that is computed instead of written as the ops that make it.
MOST_FOLDED = 64
#: The largest constant of one number that is written where it is used.
MOST_FILLED = 1 << 16
#: Graphs of this version and later may have placeholders that are known to be scalars.
SCALAR_PLACEHOLDERS = 24
#: Ops whose value follows from the static shape of their input.
SHAPE_OPS = ("Shape", "ShapeN", "Size", "Rank")
ONES = ("OnesLike", "ZerosLike")
_CONTROL_FLOW = ("Enter", "Exit", "Switch", "Merge", "NextIteration", "LoopCond")


class Typed:
    """A part of the graph as TensorFlow imports it with static shapes, at one batch size.

    Args:
      graph_def: the part.
      shapes: {placeholder: static shape}.
      opaque: names of ops whose results do not follow from their inputs alone, such as loops.

    Attributes:
      graph: the `tf.Graph`.
      constants: {tensor: its value} of the tensors that follow from shapes and constants alone, if they are small or
        constants of one number.
    """

    def __init__(self, graph_def: Any, shapes: Dict[str, Sequence[Optional[int]]], opaque: Sequence[str] = ()) -> None:
        self._opaque = set(opaque)
        shaped = v1.GraphDef()
        shaped.CopyFrom(graph_def)
        if shaped.versions.producer < SCALAR_PLACEHOLDERS and not all(shapes.values()):  # some are scalars
            _say_which_ranks_are_open(shaped)
        for node in shaped.node:
            if node.name in shapes:
                node.attr["shape"].shape.CopyFrom(tf.TensorShape(shapes[node.name]).as_proto())
        self._import_with_choices(shaped)
        if self._fix_open_sizes(shaped):
            self._import(shaped)

    def operations(self) -> list[tf.Operation]:
        """Returns the ops, in the order of the graph."""
        return self.graph.get_operations()

    def _import_with_choices(self, graph_def: Any) -> None:
        """Imports a graph, in which the choices between values of different sizes are settled, or kept apart."""
        try:
            self._import(graph_def)
            if not may_differ(self.graph):
                return
        except InputError:
            if not any(OF_BRANCHES in node.attr for node in graph_def.node):
                raise
            take_known_branches(graph_def, self._constants_of)
        self._import(with_merges(graph_def))
        keep_apart(graph_def, self.graph)
        self._import(graph_def)

    def _import(self, graph_def: Any, knows_arrays: bool = False) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            import_graph(graph_def, subject="graph file")
        self.constants = self._computed_constants(knows_arrays)

    def _constants_of(self, graph_def: Any) -> Dict[str, np.ndarray]:
        """Returns the constants of another graph with the same shapes; changes it as `_fix_open_sizes` does.

        The sizes of tensor arrays are among them, which the text computes.
        """
        self._import(graph_def, knows_arrays=True)
        if self._fix_open_sizes(graph_def):
            self._import(graph_def, knows_arrays=True)
        return self.constants

    def _fix_open_sizes(self, graph_def: Any) -> bool:
        """Makes known integers without a static shape constants, as `setdiff1d` gives them; tells whether it did.

        Shapes that are computed from them, such as those of `tf.tensordot` in 1.x, are static after another import.
        """
        open_ = {
            tensor.op.name: value
            for name, value in self.constants.items()
            for tensor in [self.graph.get_tensor_by_name(name)]
            if _is_open(tensor) and len(tensor.op.outputs) == 1
        }
        for node in graph_def.node:
            if node.name in open_:
                value = open_[node.name]
                name = node.name
                node.Clear()
                node.name, node.op = name, "Const"
                node.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
                node.attr["value"].tensor.CopyFrom(v1.make_tensor_proto(value))
        return bool(open_)

    def _computed_constants(self, knows_arrays: bool) -> Dict[str, np.ndarray]:
        """Returns {tensor: its value} of what follows from shapes and constants, and from sizes of tensor arrays."""
        folding = v1.GraphDef()
        library: Set[str] = set()
        small: List[str] = []
        for operation in self.operations():
            value = _known_value(operation)
            if value is not None:
                for number, array in enumerate(value):
                    add_constant(folding, _flat(operation.outputs[number].name), array)
            elif operation.name not in self._opaque and _is_foldable(operation, library):
                node = folding.node.add()
                node.CopyFrom(operation.node_def)
                forget_placement(node)
                node.input[:] = [_source(tensor) for tensor in operation.inputs]
            elif knows_arrays and operation.type == "TensorArraySizeV3" and _array_size(operation).name in library:
                node = folding.node.add(name=operation.name, op="Identity", input=[_source(_array_size(operation))])
                node.attr["T"].type = tf.int32.as_datatype_enum
            else:
                continue
            library |= {out.name for out in operation.outputs}
            kept = [out for out in operation.outputs if _is_small(out) or _is_open(out) or _is_filled(operation)]
            small += [out.name for out in kept]
        if not small:
            return {}
        with tf.Graph().as_default(), v1.Session() as session:
            known = [self.graph.get_tensor_by_name(name) for name in small]
            sources = [_source(tensor) for tensor in known]
            fetches = [source if ":" in source else source + ":0" for source in sources]
            values = session.run(import_graph(folding, fetches=fetches, subject="graph file"))
        kept = [value.size <= MOST_FOLDED or not _is_open(tensor) for tensor, value in zip(known, values)]
        return {name: value for name, value, keep in zip(small, values, kept) if keep}


def _say_which_ranks_are_open(graph_def: Any) -> None:
    """Makes an old graph one of a version in which a placeholder without dimensions is a scalar, not of any rank."""
    for node in graph_def.node:
        if node.op == "Placeholder" and not node.attr["shape"].shape.dim:
            node.attr["shape"].shape.unknown_rank = True
    graph_def.versions.producer = SCALAR_PLACEHOLDERS


def _flat(tensor: str) -> str:
    """Returns the name of the constant that stands for one output of a shape op."""
    return tensor.replace(":", "__shape_")


def _source(tensor: tf.Tensor) -> str:
    """Returns the text by which a NodeDef of the folded graph takes a tensor."""
    return _flat(tensor.name) if _known_value(tensor.op) is not None else tensor.name


def _known_value(operation: tf.Operation) -> List[np.ndarray] | None:
    """Returns the values of an op's outputs if they follow from the static shapes of its inputs."""
    if not operation.inputs or not _has_static_inputs(operation):
        return None
    if operation.type in SHAPE_OPS:
        return [_shape_value(operation, number) for number in range(len(operation.outputs))]
    if operation.type in ONES and _is_small(operation.outputs[0]):
        like = np.ones if operation.type == "OnesLike" else np.zeros
        return [like(operation.outputs[0].shape.as_list(), operation.outputs[0].dtype.as_numpy_dtype)]
    return None


def _has_static_inputs(operation: tf.Operation) -> bool:
    return all(tensor.shape.is_fully_defined() for tensor in operation.inputs)


def _shape_value(operation: tf.Operation, number: int) -> np.ndarray:
    shape = operation.inputs[number].shape.as_list()
    dtype = operation.outputs[number].dtype.as_numpy_dtype
    if operation.type == "Size":
        return np.array(np.prod(shape, dtype=np.int64), dtype)
    return np.array(len(shape) if operation.type == "Rank" else shape, dtype)


def _array_size(operation: tf.Operation) -> tf.Tensor:
    """Returns the size that a tensor array was made with, which it keeps; of one that may grow, its present size."""
    array = operation.inputs[0].op
    is_kept = array.type == "TensorArrayV3" and not array.get_attr("dynamic_size")
    return array.inputs[0] if is_kept else operation.outputs[0]


def _is_foldable(operation: tf.Operation, known: Set[str]) -> bool:
    """Returns whether an op's value follows from known tensors alone."""
    if operation.type == "Const":
        return True
    if operation.type in _CONTROL_FLOW or operation.op_def.is_stateful or not operation.inputs:
        return False
    return all(tensor.name in known for tensor in operation.inputs)


def _is_filled(operation: tf.Operation) -> bool:
    """Returns whether an op is a constant of one number, such as the scale that a batch norm without scale is given."""
    if operation.type != "Const" or not operation.outputs[0].dtype.is_floating:
        return False
    if not MOST_FOLDED < operation.outputs[0].shape.num_elements() <= MOST_FILLED:
        return False
    value = tf.make_ndarray(operation.get_attr("value"))
    return bool((value == value.flat[0]).all())


def _is_small(tensor: tf.Tensor) -> bool:
    shape = tensor.shape
    numbers = tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_bool
    return bool(numbers and shape.is_fully_defined() and shape.num_elements() <= MOST_FOLDED)


def _is_open(tensor: tf.Tensor) -> bool:
    """Whether a tensor of whole numbers has no static shape, as those of set differences, which sizes are made of."""
    return bool(tensor.dtype.is_integer and not tensor.shape.is_fully_defined())
