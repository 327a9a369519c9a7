"""Reads a saved graph from any file that a 1.x program writes: MetaGraph, GraphDef, SavedModel or events file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import tensorflow as tf
from google.protobuf import message, text_format
from tensorflow.core.framework import variable_pb2
from tensorflow.core.protobuf import saved_model_pb2

from legacy.saved.graph import op_types
from legacy.saved.graph.additions import add_up_accumulated, add_up_all_reduced, add_up_in_temporary_variables
from legacy.saved.graph.functions import call_gradient_functions, call_on_any_device
from legacy.saved.graph.names.gradient_scopes import name_gradient_graphs, renamed_input
from workloads.lifted.graph import Graph
from workloads.lifted.graph.default_attributes import add_default_attributes
from workloads.lifted.graph.graph_check import require_sound_graph
from workloads.support.errors import InputError
from workloads.support.files import input_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensorflow.core.framework.graph_pb2 import GraphDef
    from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

v1 = tf.compat.v1

#: What a file may hold, in the order in which it is tried.
_MESSAGES = (v1.MetaGraphDef, v1.GraphDef, saved_model_pb2.SavedModel)
#: Beginnings of a text, whatever the file is called, within its first bytes.
_BEGINNINGS, _BEGIN = (b"meta_info_def {", b"graph_def {", b"node {", b"saved_model_schema_version:"), 32
#: Tag of a SavedModel's graph for training.
_FOR_TRAINING = "train"
#: The largest file that is read; a protocol buffer can be twice as large.
MOST_BYTES = 1 << 30


class SavedGraph(NamedTuple):
    """A graph as it was saved.

    Attributes:
      graph: its index.
      collections: {collection: names of nodes or variables}; variables by their nodes' names; empty if only a graph
        was saved.
      written_by: the TensorFlow version, or the GraphDef's version where only that is known.
      path: the file.
      all_reduced: the sums that the file has NCCL compute; they are `AddN` in the graph.
    """

    graph: Graph
    collections: dict[str, list[str]]
    written_by: str
    path: str
    all_reduced: frozenset[str] = frozenset()

    @property
    def graph_def(self) -> GraphDef:
        """The GraphDef."""
        return self.graph.graph_def


def read_graph_file(path: str) -> SavedGraph:
    """Returns the graph in a file; the file's name tells its format.

    Raises:
      InputError: the file cannot be read, is truncated, or holds no graph.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "graph.pbtxt")
    ...     with open(path, "w") as file:
    ...         _ = file.write('node { name: "w" op: "NoOp" } versions { producer: 24 }')
    ...     saved = read_graph_file(path)
    >>> [node.name for node in saved.graph_def.node], saved.written_by
    (['w'], 'unknown (GraphDef version 24)')
    """
    content = input_files.read_bytes(path, "graph file", MOST_BYTES)
    base = os.path.basename(path)
    if "tfevents" in base:
        meta = _from_events(path)
    elif base.endswith((".pbtxt", ".txt")) or content.lstrip()[:_BEGIN].startswith(_BEGINNINGS):
        meta = _from_text(path, content)
    else:
        meta = _from_bytes(path, content)
    if not meta.graph_def.node:
        raise InputError(f"graph file: {path!r} holds no graph; expected a MetaGraph, a GraphDef or an events file")
    renamed = name_gradient_graphs(meta.graph_def)
    add_default_attributes(meta.graph_def)
    call_on_any_device(meta.graph_def)
    call_gradient_functions(meta.graph_def)
    all_reduced = add_up_all_reduced(meta.graph_def)
    add_up_accumulated(meta.graph_def)
    add_up_in_temporary_variables(meta.graph_def)
    graph = require_sound_graph(meta.graph_def, f"graph file: {path!r}")
    _forget_computed_shapes(meta.graph_def)
    version = meta.meta_info_def.tensorflow_version
    written_by = version or f"unknown (GraphDef version {meta.graph_def.versions.producer})"
    return SavedGraph(graph, _collections(meta, path, renamed), written_by, path, all_reduced)


def _forget_computed_shapes(graph_def: GraphDef) -> None:
    """Removes `_output_shapes` of nodes that compute: they make up most of a large graph, and import finds them anew.

    What a data source, a placeholder or a staging area gives is known from there alone, and so may be a slice of what
    Python set the shape of.
    """
    staged = {name.partition(":")[0] for node in graph_def.node if node.op == "Stage" for name in node.input}
    for node in graph_def.node:
        is_given = op_types.is_source(node.op) or node.op.startswith("Placeholder") or node.name in staged
        is_given = is_given or node.op in op_types.PARTS
        if not is_given and "_output_shapes" in node.attr:
            del node.attr["_output_shapes"]


def _from_bytes(path: str, content: bytes) -> MetaGraphDef:
    """Returns a MetaGraphDef, or a GraphDef wrapped in one.

    The bytes of one often parse as the other: field 2 of a MetaGraphDef is the graph, of a GraphDef the function
    library. Only the right type yields nodes that all have a name and an op type.
    """
    for message_type in _MESSAGES:
        try:
            parsed = message_type.FromString(content)
        except (message.DecodeError, RuntimeError):
            continue
        meta = _as_meta_graph(parsed)
        if _is_plausible(meta):
            return meta
    raise InputError(
        f"graph file: {path!r} is truncated or not a graph ({len(content)} bytes); expected a MetaGraph "
        "(model.ckpt-*.meta), a GraphDef (.pb, .pbtxt), a saved_model.pb or an events file"
    )


def _as_meta_graph(parsed: GraphDef | MetaGraphDef | SavedModel) -> MetaGraphDef:
    """Returns a graph as a MetaGraphDef; of a SavedModel the graph for training, or else its first one."""
    if isinstance(parsed, saved_model_pb2.SavedModel):
        graphs = sorted(parsed.meta_graphs, key=lambda one: _FOR_TRAINING not in one.meta_info_def.tags)
        return graphs[0] if graphs else v1.MetaGraphDef()
    return parsed if isinstance(parsed, v1.MetaGraphDef) else v1.MetaGraphDef(graph_def=parsed)


def _is_plausible(meta: MetaGraphDef) -> bool:
    return bool(meta.graph_def.node) and all(node.name and node.op for node in meta.graph_def.node)


def _from_text(path: str, content: bytes) -> MetaGraphDef:
    for message_type in _MESSAGES:
        try:
            parsed = text_format.Parse(content.decode("utf-8"), message_type())
        except (text_format.ParseError, UnicodeDecodeError, RecursionError, ValueError):
            continue
        return _as_meta_graph(parsed)
    raise InputError(f"graph file: {path!r} is not the text of a GraphDef, MetaGraphDef or SavedModel")


def _from_events(path: str) -> MetaGraphDef:
    """Returns the last MetaGraph of an events file, or its last GraphDef, which has no collections."""
    graph, meta = b"", b""
    try:
        for event in v1.train.summary_iterator(path):
            graph, meta = event.graph_def or graph, event.meta_graph_def or meta
    except (tf.errors.DataLossError, message.DecodeError):
        pass  # a run that was killed leaves a partial record at the end; the records before it are complete
    if not (meta or graph):
        raise InputError(f"graph file: {path!r} is an events file without a graph in it")
    return _from_bytes(path, meta or graph)


def _collections(meta: MetaGraphDef, path: str, renamed: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns {collection: names} of the collections that name nodes or hold variables.

    Args:
      meta: the graph.
      path: its file.
      renamed: {name of a node in the file: its name in the graph} of those that have another.
    """
    found = {}
    for name, collection in meta.collection_def.items():
        kind = collection.WhichOneof("kind")
        if kind == "node_list":
            found[name] = [renamed_input(text, renamed) for text in collection.node_list.value]
        elif kind == "bytes_list" and "variables" in name:
            try:
                definitions = [variable_pb2.VariableDef.FromString(value) for value in collection.bytes_list.value]
            except message.DecodeError as error:
                raise InputError(
                    f"graph file: {path!r}: collection {name!r} holds what is no definition of a variable"
                ) from error
            found[name] = [definition.variable_name.partition(":")[0] for definition in definitions]
    return found
