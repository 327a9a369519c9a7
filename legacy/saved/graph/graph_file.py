"""Reads a saved graph from whatever an old program left: `.meta`, GraphDef (binary or text), or an events file."""

from __future__ import annotations

import collections
import os

import tensorflow as tf
from google.protobuf import message, text_format
from tensorflow.core.framework import variable_pb2

from workloads.support.errors import InputError

v1 = tf.compat.v1


class SavedGraph(collections.namedtuple("SavedGraph", "graph_def collections written_by path")):
    """A graph as it was saved.

    Attributes:
      graph_def: GraphDef.
      collections: {name: [text]}: nodes' names, variables as their nodes' names; empty if only a graph was saved.
      written_by: the TensorFlow version, or the GraphDef's version where only that is known.
      path: where it was read.
    """


def read(path):
    """The `SavedGraph` in a file.

    Raises:
      InputError: the file cannot be read, is truncated, or holds no graph.
    """
    if os.path.isdir(path):
        raise InputError(f"graph file: {path!r} is a folder; name the .meta, .pbtxt, .pb or events file in it")
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError as error:
        raise InputError(f"graph file: cannot read {path!r}: {error.strerror}")
    base = os.path.basename(path)
    if "tfevents" in base:
        meta = _from_events(path)
    elif base.endswith((".pbtxt", ".txt")):
        meta = _from_text(path, content)
    else:
        meta = _from_bytes(path, content)
    if not meta.graph_def.node:
        raise InputError(f"graph file: {path!r} holds no graph; expected a MetaGraph, a GraphDef or an events file")
    version = meta.meta_info_def.tensorflow_version
    written_by = version or f"unknown (GraphDef version {meta.graph_def.versions.producer})"
    return SavedGraph(meta.graph_def, _collections(meta), written_by, path)


def _from_bytes(path, content):
    """A MetaGraphDef, or a GraphDef wrapped in one. Field 2 of the first is a graph, of the second a node."""
    for kind in (v1.MetaGraphDef, v1.GraphDef):
        try:
            parsed = kind.FromString(content)
        except (message.DecodeError, RuntimeError):
            continue
        meta = parsed if kind is v1.MetaGraphDef else v1.MetaGraphDef(graph_def=parsed)
        if _plausible(meta):
            return meta
    raise InputError(
        f"graph file: {path!r} is truncated or not a graph ({len(content)} bytes); expected a MetaGraph (model.ckpt-*.meta), a GraphDef "
        "(.pb, .pbtxt) or an events file"
    )


def _plausible(meta):
    return bool(meta.graph_def.node) and all(node.name and node.op for node in meta.graph_def.node)


def _from_text(path, content):
    for kind in (v1.GraphDef, v1.MetaGraphDef):
        try:
            parsed = text_format.Parse(content.decode("utf-8"), kind())
        except (text_format.ParseError, UnicodeDecodeError):
            continue
        return parsed if kind is v1.MetaGraphDef else v1.MetaGraphDef(graph_def=parsed)
    raise InputError(f"graph file: {path!r} is neither the text of a GraphDef nor of a MetaGraphDef")


def _from_events(path):
    """The last graph of an events file; a MetaGraph, if it has one, for its collections."""
    graph, meta = b"", b""
    try:
        for event in v1.train.summary_iterator(path):
            graph, meta = event.graph_def or graph, event.meta_graph_def or meta
    except (tf.errors.DataLossError, message.DecodeError):
        pass  # an old run's events often end in the middle of a record; what came before is whole
    if meta:
        return _from_bytes(path, meta)
    if graph:
        return _from_bytes(path, graph)
    raise InputError(f"graph file: {path!r} is an events file without a graph in it")


def _collections(meta):
    """{name: [text]} of the collections that name nodes or variables."""
    found = {}
    for name, collection in meta.collection_def.items():
        kind = collection.WhichOneof("kind")
        if kind == "node_list":
            found[name] = list(collection.node_list.value)
        elif kind == "bytes_list" and "variables" in name:
            definitions = [variable_pb2.VariableDef.FromString(value) for value in collection.bytes_list.value]
            found[name] = [definition.variable_name.partition(":")[0] for definition in definitions]
    return found
