"""Names and describes what enters the towers: from which placeholder or queue, in what shape, within which bounds."""

from __future__ import annotations

import collections

import tensorflow as tf

from legacy.saved.analysis.towers import SHAPES, is_scalar_setting
from workloads.lifted.graph import tensor_name
from workloads.lifted.plan import Input

PASSES = [
    "Identity",
    "Reshape",
    "Squeeze",
    "ExpandDims",
    "Cast",
    "Transpose",
    "ConcatV2",
    "Concat",
    "Pack",
    "Unpack",
    "StridedSlice",
    "Slice",
    "Split",
    "SplitV",
    "StopGradient",
    "Enter",
    "TensorArrayScatterV3",
    "TensorArrayReadV3",
    "Tile",
    "PadV2",
    "Pad",
    "ReverseSequence",
    "ReverseV2",
    "Unique",
]


def describe(graph, imported, origins, rows, batch, taken, common=False):
    """[`Input`] for rows of matching tensors.

    Args:
      origins: see `cone.Cut`.
      rows: list of lists of (node, output): one a tower, or a single one.
      batch: a tower's examples, or None.
      taken: names in use already; added to.
      common: whether they belong to no tower.
    """
    found = []
    for row in rows:
        name, output = row[0]
        source, origin = _origin(graph, imported, origins, name)
        if source in taken:
            source = name if name not in taken else tensor_name(name, output)
        taken.add(source)
        shape = imported.shape(name, output)
        found.append(
            Input(
                name=source,
                dtype=imported.dtype(name, output),
                shape=None if shape is None else list(shape),
                kind=_kind(row, shape, batch, common),
                limit=_limit(graph, imported, row[0])
                if imported.dtype(name, output).startswith(("int", "uint"))
                else 0,
                tensors=[tensor_name(*tensor) for tensor in row],
                origin=origin,
            )
        )
    return found


def batch_size(imported, rows):
    """The first dimension that most inputs of a tower share, or None."""
    sizes = collections.Counter()
    for row in rows:
        shape = imported.shape(*row[0])
        if shape and len(set(row)) == len(row):
            sizes[shape[0]] += 1
    return sizes.most_common(1)[0][0] if sizes else None


def _kind(row, shape, batch, common):
    if shape in ((), None):  # a placeholder without any shape is more likely a rate than a batch
        return "setting"
    if common or (len(row) > 1 and len(set(row)) == 1):
        return "same"
    return "batch" if shape[0] in (None, batch) else "whole"


def _origin(graph, imported, origins, name):
    """(short name, tensor of the whole graph) that a tensor is made from, if it is from one placeholder."""
    if name in origins:
        return name, origins[name][0]
    shapes = {node for node in graph.nodes if graph.type(node) in SHAPES}  # a size is no source of data
    before = [n for n in graph.ancestors([name], shapes, controls=False) if n in origins]
    before = [n for n in before if not is_scalar_setting(graph, imported, n)]
    if len(before) == 1:
        return before[0], origins[before[0]][0]
    return name, tensor_name(name, 0)


def _limit(graph, imported, tensor):
    """The number that integers of a tensor must stay below, from the ops that use them as labels or rows; 0 if none."""
    limits, seen, todo = [], set(), [tensor]
    while todo:
        name, output = todo.pop()
        if (name, output) in seen:
            continue
        seen.add((name, output))
        for user, position, o in graph.users(name):
            if o == output:
                limits += _bound(graph, imported, user, position)
                if graph.type(user) in PASSES:
                    todo += [(user, k) for k in range(imported.outputs(user))]
    return min(limits) if limits else 0


def _bound(graph, imported, user, position):
    kind = graph.type(user)
    size = None
    if kind == "SparseSoftmaxCrossEntropyWithLogits" and position == 1:
        shape = imported.shape(*graph.inputs(user)[0])
        size = shape[-1] if shape else None
    elif kind in ("Gather", "GatherV2") and position == 1:
        shape = imported.shape(*graph.inputs(user)[0])
        size = shape[0] if shape else None
    elif kind == "ResourceGather" and position == 1:
        size = _variable_rows(graph, graph.inputs(user)[0][0])
    elif kind == "OneHot" and position == 0:
        depth = tf.get_static_value(imported.tf_graph.get_tensor_by_name("{}:{}".format(*graph.inputs(user)[1])))
        size = None if depth is None else int(depth)
    elif kind == "ReverseSequence" and position == 1:
        shape = imported.shape(*graph.inputs(user)[0])
        size = shape[graph.nodes[user].attr["seq_dim"].i] if shape else None
    return [size] if size else []


def _variable_rows(graph, name):
    while graph.type(name) != "VarHandleOp" and graph.inputs(name):
        name = graph.inputs(name)[0][0]
    dimensions = graph.nodes[name].attr["shape"].shape.dim
    return dimensions[0].size if dimensions else None
