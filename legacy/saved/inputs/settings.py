"""Recognises placeholders that are settings, such as a learning rate or is_training, and not data."""

from __future__ import annotations

from collections.abc import Mapping

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.open_shapes import is_slice
from workloads.lifted.graph import Graph, TensorId, Use

#: Ops that take a scalar setting in a model.
_SCALAR_USERS = (*op_types.ARITHMETIC, "RandomUniform", "Switch")
#: Ops that a number is computed from others by.
_OF_NUMBERS = (
    *op_types.ARITHMETIC,
    *("Pow", "Sqrt", "Rsqrt", "Exp", "Neg", "Square", "Reciprocal", "Cast", "Identity"),
)
#: Ops that compare numbers, one by one.
_COMPARISONS = (*op_types.EQUALITIES, "Greater", "GreaterEqual", "Less", "LessEqual")
#: Ops that take sizes or places, with the numbers of these inputs.
_SIZES: dict[str, tuple[int, ...]] = {
    "SplitV": (1, 2),
    "Reshape": (1,),
    "Slice": (1, 2),
    "StridedSlice": (1, 2, 3),
    "Tile": (1,),
    "Fill": (0,),
    "Pad": (1,),
}
#: Ops that take arrays, with the inputs that may be scalars nevertheless.
_ARRAY_USERS: dict[str, tuple[int, ...]] = {
    "Split": (0,),
    "SplitV": (2,),
    "Unpack": (),
    "Slice": (),
    "StridedSlice": (),
    "Reshape": (),
    "Squeeze": (),
    "Transpose": (),
    "MatMul": (),
    "BatchMatMul": (),
    "BatchMatMulV2": (),
    "Conv2D": (),
    "Conv3D": (),
    "BiasAdd": (),
    "Gather": (1,),
    "GatherV2": (1, 2),
    "ArgMax": (1,),
    "Where": (),
    "SparseSoftmaxCrossEntropyWithLogits": (),
    "SoftmaxCrossEntropyWithLogits": (),
}


def is_of_arrays(graph: Graph, imported: ImportedGraph, name: str, is_common: bool) -> bool:
    """Returns whether a scalar is computed from arrays that are fed, such as the mean of all rewards.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      name: of the node.
      is_common: whether it is one number for all towers; of an open shape may also be a fed rate, which towers take.

    Returns:
      Whether it is.
    """
    before = graph.ancestors([name], controls=False) - {name}
    shapes = [imported.shape(one) for one in before if graph.type(one).startswith("Placeholder")]
    return any(shape or (shape is None and is_common) for shape in shapes)


def is_scalar_setting(graph: Graph, imported: ImportedGraph, name: str) -> bool:
    """Returns whether a node is a placeholder for a scalar setting.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      name: of the node.

    Returns:
      True for a placeholder of shape (); if its rank is not known, for one that is reshaped to one element, as the
      switch of a layer of 1.4 is, for a boolean or float32 placeholder that is used, and by elementwise ops alone, and
      for a whole number that tells where parts begin.
    """
    if graph.type(name) != "Placeholder":
        return False
    shape = imported.shape(name)
    if shape is not None:
        return shape == ()
    if any(_is_one_element(graph, imported, use) for use in graph.users(name)):
        return True
    if imported.dtype(name) in ("int32", "int64"):
        return is_place_of_parts(graph, imported, name)
    users = [graph.type(user) for user, _, _ in graph.users(name)]
    elementwise = bool(users) and all(op_type in _SCALAR_USERS for op_type in users)
    is_setting = elementwise and imported.dtype(name) in ("bool", "float32")
    return is_setting and not is_array(graph, imported, TensorId(name, 0))


def _is_one_element(graph: Graph, imported: ImportedGraph, use: Use) -> bool:
    """Returns whether a use of a tensor gives it a constant shape of one element, which it has, then, in any case."""
    if graph.type(use.node) != "Reshape" or use.position:
        return False
    sizes = imported.constant(*graph.inputs(use.node)[1])
    return sizes is not None and all(size == 1 for size in sizes.ravel())


def is_place_of_parts(graph: Graph, imported: ImportedGraph, name: str) -> bool:
    """Returns whether a fed number, with constants, says where slices begin or end, as the size in x[k * size :] does.

    The places along all dimensions are a list of numbers, of which such a one is no array.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      name: of the placeholder.

    Returns:
      The answer.
    """
    todo, seen = [name], {name}
    while todo:
        for user, position, _ in graph.users(todo.pop()):
            others = [other for i, other in enumerate(graph.inputs(user)) if i != position]
            is_computed = graph.type(user) in _OF_NUMBERS and all(
                imported.constant(*other) is not None for other in others
            )
            if graph.type(user) == "Pack" and any(_takes_places(graph, use) for use in graph.users(user)):
                return True
            if is_computed and user not in seen:
                seen.add(user)
                todo.append(user)
    return False


def _takes_places(graph: Graph, use: Use) -> bool:
    """Returns whether a use of a tensor is for the places of a part."""
    return graph.type(use.node) in op_types.SLICES and use.position > 0


def gives_sizes_alone(graph: Graph, name: str) -> bool:
    """Returns whether a node tells sizes or places of others alone, as of the parts that a batch is split into.

    Args:
      graph: the graph.
      name: of the node.
    """
    uses = graph.users(name)
    return bool(uses) and all(use.position in _SIZES.get(graph.type(use.node), ()) for use in uses)


def is_array(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> bool:
    """Returns whether a tensor of unknown rank is an array, and no scalar, by the ops that use it.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: the tensor.

    Returns:
      True if it is a slice, or if an op that needs an array takes it, as it is or after elementwise ops with constants,
      (x - 128) / 255, or comparisons, as of marks of which `tf.where` gives the places. What is reshaped to one element
      is none.
    """
    if is_slice(graph, imported, tensor):
        return True
    if any(use.output == tensor.output and _is_one_element(graph, imported, use) for use in graph.users(tensor.node)):
        return False
    seen, todo = {tensor}, [tensor]
    while todo:
        node, output = todo.pop()
        for user, position, used in graph.users(node):
            op_type, after = graph.type(user), TensorId(user, 0)
            if used != output or after in seen:
                continue
            if position not in _ARRAY_USERS.get(op_type, (position,)):
                return True
            others = [other for i, other in enumerate(graph.inputs(user)) if i != position]
            if op_type in op_types.COPIES or (
                op_type in (*_SCALAR_USERS, *_COMPARISONS)
                and all(imported.constant(*other) is not None for other in others)
            ):
                seen.add(after)
                todo.append(after)
    return False


def is_share(graph: Graph, imported: ImportedGraph, tensor: TensorId) -> bool:
    """Returns whether a graph subtracts a fed scalar from one, as it does the share of units that are dropped.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      tensor: the scalar.

    Returns:
      The answer.
    """
    for user, position, output in graph.users(tensor.node):
        if output == tensor.output and position == 1 and graph.type(user) == "Sub":
            whole = imported.constant(*graph.inputs(user)[0])
            if whole is not None and whole.size == 1 and float(whole.reshape(())) == 1.0:
                return True
    return False


def is_number_of_settings(graph: Graph, imported: ImportedGraph, aliases: Mapping[TensorId, str], name: str) -> bool:
    """Returns whether a node computes a number from fed scalars, such as a multiple of a learning rate.

    A fed scalar of a saved graph has no known shape. Numbers that are variables may be factors besides: the Adam of
    rows multiplies its rate by a correction, of the powers of its decays.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      aliases: {tensor: variable} of the tensors that are a variable itself.
      name: of the node.

    Returns:
      The answer.
    """
    if graph.type(name) not in _OF_NUMBERS or imported.shape(name) not in (None, ()):
        return False
    todo, seen, is_fed = [name], {name}, False
    while todo:
        for tensor in graph.inputs(todo.pop()):
            before, kind = tensor.node, graph.type(tensor.node)
            if before in seen or imported.constant(*tensor) is not None:
                continue
            seen.add(before)
            if kind == "Placeholder" and imported.shape(before) in (None, ()):
                is_fed = True
                if is_array(graph, imported, tensor):
                    return False
            elif tensor in aliases:
                if imported.shape(aliases[tensor]) != ():
                    return False
            elif kind not in _OF_NUMBERS:
                return False
            else:
                todo.append(before)
    return is_fed
