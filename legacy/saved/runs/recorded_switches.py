"""Values of switches, such as is_training or keep_prob, in the recording beside a graph file."""

from __future__ import annotations

import io
import os

import numpy as np
import tensorflow as tf

from legacy.saved.folding.decided import default_number
from legacy.saved.folding.settings import TRAINING, is_boolean_setting
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.runs.recording_folder import STEPS
from workloads.lifted.graph import Graph
from workloads.support.errors import InputError
from workloads.support.files.array_archive import ArrayArchive

#: The most runs of a recording that are read, and bytes of each.
MOST_READ, MOST_BYTES = 3, 1 << 30


def recorded_switches(saved: SavedGraph) -> dict[str, str]:
    """Returns the switches of a program as its recorded runs had them.

    Switches are boolean placeholders, and numbers that are constants unless they are fed, such as keep_prob.

    Args:
      saved: the graph, as read from its file.

    Returns:
      {placeholder: text of its value} of those that had one value in the first recorded runs, another one than their
      constant or than `fold_settings` assumes; {} without a recording, or if it cannot be read.
    """
    path = os.path.join(os.path.dirname(saved.path), STEPS)
    booleans = [name for name, node in saved.graph.nodes.items() if is_boolean_setting(node)]
    defaults = _defaults(saved.graph)
    names = list(dict.fromkeys([*booleans, *defaults]))
    if not names or not os.path.isfile(path):
        return {}
    try:
        seen = [_values(content, names) for content in _first_steps(path)]
    except InputError:
        return {}
    found = {}
    for name in names:
        values = [step[name] for step in seen if name in step]
        assumed: list[object] = [True] if name in booleans and TRAINING.search(name) else []
        assumed += [defaults[name]] if name in defaults else []
        if len(set(values)) == 1 and set(assumed) != set(values):
            found[name] = str(values[0]).lower()
    return found


def _defaults(graph: Graph) -> dict[str, object]:
    """Returns {placeholder: the constant that it has unless it is fed} of the scalars."""
    found: dict[str, object] = {}
    for node in graph.nodes.values():
        number = default_number(graph, node.name)
        if number is not None:
            found[node.name] = tf.as_dtype(node.attr["dtype"].type).as_numpy_dtype(number)
    return found


def _first_steps(path: str) -> list[bytes]:
    """Returns the archives of the first recorded runs."""
    archive = ArrayArchive(path, path, MOST_READ * MOST_BYTES)
    return [bytes(archive.content(name, MOST_BYTES)) for name in archive.names[:MOST_READ]]


def _values(content: bytes, names: list[str]) -> dict[str, object]:
    """Returns {placeholder: value} of the scalars among some placeholders that a run has."""
    step = ArrayArchive(io.BytesIO(content), STEPS)
    found: dict[str, object] = {}
    for name in names:
        key = f"tensors/{name}:0"
        value = step.array(key) if key in step else np.zeros([0])
        if value.shape == ():
            found[name] = value[()]
    return found
