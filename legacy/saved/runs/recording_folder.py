"""The folder of a recording, as `legacy.recorder` writes it: what its files are, and what each run fetched."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Optional

from workloads.support.errors import InputError, require
from workloads.support.files.input_files import read_bytes

#: The files with the names of the nodes that each run fetched, with the arrays of each run, and with the graph.
ABOUT, STEPS, GRAPH = "recording.json", "steps.zip", "graph.meta"
#: Version of the files, and the most bytes of `ABOUT`.
FORMAT, MOST_ABOUT = 1, 64 << 20


def recording_beside(path: str) -> Optional[str]:
    """Returns the folder of a graph file if it is a recording: the recorder writes the graph into it."""
    folder = os.path.dirname(path) or "."
    return folder if os.path.isfile(os.path.join(folder, ABOUT)) else None


def read_about(folder: str, subject: str) -> Dict[str, Any]:
    """Reads the format, the versions of TensorFlow and Python, and the names of the nodes that each run fetched.

    Args:
      folder: of the recording.
      subject: beginning of messages about a damaged file.

    Returns:
      The content of the file: "format", "tensorflow", "python", and "steps", a list of names for each run.

    Raises:
      InputError: it is not a recording, or is damaged.
    """
    try:
        about = json.loads(read_bytes(os.path.join(folder, ABOUT), subject, MOST_ABOUT).decode("utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{subject}: {ABOUT}: {error}") from error
    expected = f"{ABOUT} must hold the format, the versions, and the names of the nodes of each step"
    require(isinstance(about, dict), "--recording", folder, expected)
    require(about.get("format") == FORMAT, "--recording", folder, f"expected format {FORMAT}")
    steps = about.get("steps")
    lists = isinstance(steps, list) and all(isinstance(targets, list) for targets in steps)
    texts = lists and all(isinstance(name, str) for targets in steps for name in targets)
    require(texts and steps, "--recording", folder, expected)
    return dict(about, tensorflow=str(about.get("tensorflow")), python=str(about.get("python")))
