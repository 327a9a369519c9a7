"""JSON files of results: values of any numpy type, written in one piece; or to standard output, or to a device."""

from __future__ import annotations

import json
import math
import os
import stat
import sys
from typing import Any, Optional

from workloads.support.errors import InputError

#: The path that stands for standard output.
STDOUT = "-"

#: Descriptor of the process's real standard output, once `reserve_stdout` has taken it for the results, and the path
#: that named it: /dev/stdout is stderr from then on.
_reserved: Optional[int] = None
_reserved_path = STDOUT


def write_json(path: str, content: object, flag: str = "--json") -> None:
    """Writes `content` to `path`: a regular file in one piece, anything else, such as a device or a pipe, in place.

    Args:
      path: the file; "-" for standard output.
      content: of any types that `plain` knows.
      flag: name of the flag that gave `path`, for messages.

    Raises:
      InputError: the path cannot be written.
    """
    write_text(path, json.dumps(plain(content), indent=1, allow_nan=False) + "\n", flag)


def write_text(path: str, text: str, flag: str) -> None:
    """Writes a text file in one piece: to a temporary file beside it, which is then renamed.

    What exists and is no regular file, such as a device, a pipe or a link, is written to and never renamed over.

    Args:
      path: the file; "-" for standard output.
      text: all of its content.
      flag: name of the flag that gave `path`, for messages.

    Raises:
      InputError: the path cannot be written.
    """
    part = f"{path}.part{os.getpid()}"
    try:
        if is_stdout(path):
            _write_to_stdout(text)
        elif is_replaceable(path):
            try:
                with open(part, "w", encoding="utf-8") as file:
                    file.write(text)
                os.replace(part, path)
            except BaseException:
                _remove_if_there(part)
                raise
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    except BrokenPipeError:
        raise  # whoever read the output has gone, which is no fault of the path
    except OSError as error:
        raise InputError(f"{flag}: cannot write {path}: {error.strerror}")


def is_stdout(path: str) -> bool:
    """Returns whether `path` is standard output: "-", or a name of the same device, pipe or file, as /dev/stdout is."""
    if path in (STDOUT, _reserved_path):
        return True
    try:
        stdout = os.fstat(1 if _reserved is None else _reserved)
        return not is_replaceable(path) and os.path.samestat(os.stat(path), stdout)
    except (OSError, ValueError):
        return False


def is_replaceable(path: str) -> bool:
    """Returns whether a new file may be renamed to `path`: there is nothing, or a regular file and no link."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return True


def reserve_stdout(path: str) -> None:
    """Keeps standard output, which `path` names, for the results: all else that is printed goes to stderr.

    Raises:
      InputError: standard output or stderr is closed.
    """
    global _reserved, _reserved_path
    if _reserved is None:
        try:
            _reserved, _reserved_path = os.dup(1), path
            os.dup2(2, 1)
        except OSError as error:
            raise InputError(f"--json: cannot write to standard output: {error.strerror}")


def require_writable(path: str, flag: str) -> None:
    """Raises `InputError` naming `flag` unless `path` is a file that can be written; for use before work begins."""
    if is_stdout(path):
        return
    folder = os.path.dirname(os.path.abspath(path))
    if is_replaceable(path):
        usable = os.path.isdir(folder) and os.access(folder, os.W_OK)
    else:
        usable = not os.path.isdir(path) and os.access(path if os.path.exists(path) else folder, os.W_OK)
    if not usable:
        raise InputError(f"{flag}: got {path!r}, must be a file in a folder that exists and can be written")


def require_replaceable(path: str, flag: str) -> None:
    """Raises `InputError` naming `flag` unless `path` is, or can become, a regular file; for files that are renamed."""
    require_writable(path, flag)
    if path == STDOUT or not is_replaceable(path):
        raise InputError(f"{flag}: got {path!r}, must be a regular file: it is written under another name and renamed")


def _write_to_stdout(text: str) -> None:
    if _reserved is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    data = text.encode("utf-8")
    while data:  # without a buffer, which would complain once more at exit that its reader has gone
        data = data[os.write(_reserved, data) :]


def _remove_if_there(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        pass


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
