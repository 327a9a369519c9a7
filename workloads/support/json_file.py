"""JSON files of results: values of any numpy type, written in one piece."""

from __future__ import annotations

import json
import math
import os
from typing import Any

from workloads.support.errors import InputError


def write_json(path: str, content: object) -> None:
    """Writes `content` to `path` in one piece: to a temporary file first, then renamed.

    Raises:
      InputError: the path cannot be written.
    """
    part = f"{path}.part{os.getpid()}"
    try:
        with open(part, "w", encoding="utf-8") as file:
            json.dump(plain(content), file, indent=1, allow_nan=False)
            file.write("\n")
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"--json: cannot write {path}: {error.strerror}")


def require_writable(path: str, flag: str) -> None:
    """Raises `InputError` naming `flag` unless `path` is a file that can be written; for use before work begins."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) or os.path.isdir(path) or not os.access(folder, os.W_OK):
        raise InputError(f"{flag}: got {path!r}, must be a file in a folder that exists and can be written")


def plain(value: Any) -> Any:
    """Returns `value` in JSON's types: tuples as lists, numpy numbers as Python's, NaN and infinities as texts."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
