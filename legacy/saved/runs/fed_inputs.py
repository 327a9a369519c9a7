"""Inputs that a program made as constants, such as `tf.zeros(batch, tf.int32)` for words, and fed all the same.

A session takes a feed for any tensor, so that such a graph trains on the same zeros by itself.
"""

from __future__ import annotations

import io
import os
from typing import Dict, List, Optional, Tuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.runs.recorded_feeds import MOST_BYTES, MOST_STEPS, PREFIX, dependent, named_feeds
from legacy.saved.runs.recording_folder import STEPS
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.support.errors import InputError
from workloads.support.files.array_archive import ArrayArchive


def with_fed_inputs(saved: SavedGraph) -> SavedGraph:
    """Returns a saved graph with placeholders for constants that its program fed as data.

    They are arrays of whole numbers, as words and labels are, that the recording names as fed. What was
    fed in place of numbers with a fraction may as well be a state; see `recorded_feeds`.

    Args:
      saved: the graph, as read from its file.

    Returns:
      The graph; the same one without a recording, or if there are none.
    """
    names = [name for name in named_feeds(saved) if parse_tensor_name(name)[1] == 0]
    nodes = {name: parse_tensor_name(name).node for name in names}
    depends = dependent(saved.graph) if names else set()
    made = [name for name, node in nodes.items() if node in saved.graph.nodes and node not in depends]
    arrays = _recorded(saved.path, made) if made else {}
    arrays = {name: found for name, found in arrays.items() if all(array.dtype.kind in "iu" for array in found)}
    shapes = {nodes[name]: _common_shape(found) for name, found in arrays.items()}
    if not any(shapes.values()):
        return saved
    result = GraphCopy(saved.graph)
    for name, found in arrays.items():
        shape = shapes[nodes[name]]
        if shape:
            node = result.nodes[nodes[name]]
            node.attr.clear()
            del node.input[:]
            node.op = "Placeholder"
            node.attr["dtype"].type = tf.as_dtype(found[0].dtype).as_datatype_enum
            node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
    return saved._replace(graph=result.graph())


def _recorded(path: str, names: List[str]) -> Dict[str, List[np.ndarray]]:
    """{tensor: its values in the first recorded steps}, from the recording beside a graph file."""
    found: Dict[str, List[np.ndarray]] = {}
    file = os.path.join(os.path.dirname(path), STEPS)
    try:
        archive = ArrayArchive(file, file, MOST_STEPS * MOST_BYTES)
        for member in archive.names[:MOST_STEPS]:
            step = ArrayArchive(io.BytesIO(bytes(archive.content(member, MOST_BYTES))), file)
            for name in names:
                if PREFIX + name in step:
                    found.setdefault(name, []).append(step.array(PREFIX + name))
    except InputError:
        return {}
    return found


def _common_shape(arrays: List[np.ndarray]) -> Optional[Tuple[Optional[int], ...]]:
    """The shape of all of some arrays, open where they differ; None of numbers, or for several ranks."""
    if len({array.ndim for array in arrays}) > 1 or not arrays[0].ndim:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*[array.shape for array in arrays]))
