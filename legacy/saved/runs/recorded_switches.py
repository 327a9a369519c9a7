"""Values of boolean placeholders, such as is_training, in the recording beside a graph file."""

from __future__ import annotations

import io
import os

import numpy as np

from legacy.saved.graph import folding
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.runs.recording_folder import STEPS
from workloads.support.errors import InputError
from workloads.support.files.array_archive import ArrayArchive

#: The most runs of a recording that are read, and bytes of each.
MOST_READ, MOST_BYTES = 3, 1 << 30


def recorded_switches(saved: SavedGraph) -> dict[str, str]:
    """Returns the switches of a program as its recorded runs had them.

    Args:
      saved: the graph, as read from its file.

    Returns:
      {boolean placeholder: "true" or "false"} of those that had one value in the first recorded runs, another one than
      `fold_settings` assumes; {} without a recording, or if it cannot be read.
    """
    path = os.path.join(os.path.dirname(saved.path), STEPS)
    names = [name for name, node in saved.graph.nodes.items() if folding.is_boolean_setting(node)]
    if not names or not os.path.isfile(path):
        return {}
    try:
        seen = [_values(content, names) for content in _first_steps(path)]
    except InputError:
        return {}
    found = {}
    for name in names:
        values = [step[name] for step in seen if name in step]
        is_assumed = values[:1] == [True] and folding.TRAINING.search(name) is not None
        if len(set(values)) == 1 and not is_assumed:
            found[name] = str(values[0]).lower()
    return found


def _first_steps(path: str) -> list[bytes]:
    """Returns the archives of the first recorded runs."""
    archive = ArrayArchive(path, path, MOST_READ * MOST_BYTES)
    return [bytes(archive.content(name, MOST_BYTES)) for name in archive.names[:MOST_READ]]


def _values(content: bytes, names: list[str]) -> dict[str, bool]:
    """Returns {placeholder: value} of the scalars among some placeholders that a run has."""
    step = ArrayArchive(io.BytesIO(content), STEPS)
    found = {}
    for name in names:
        key = f"tensors/{name}:0"
        value = step.array(key) if key in step else np.zeros([0])
        if value.shape == () and value.dtype == bool:
            found[name] = bool(value)
    return found
