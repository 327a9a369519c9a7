"""Checks of files that commands read: missing, special and implausibly large ones are refused in one line."""

from __future__ import annotations

import glob
import os
import stat

from workloads.support.errors import InputError


def require_regular(path: str, argument: str) -> int:
    """Returns the size of a file, in bytes.

    Raises:
      InputError: there is none, or it is no regular file: a pipe would be waited for, a device never ends.
    """
    try:
        about = os.stat(path)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the name
        raise InputError(f"{argument}: cannot read {path}: {getattr(error, 'strerror', error)}") from error
    if not stat.S_ISREG(about.st_mode):
        raise InputError(f"{argument}: cannot read {path}: it is not a regular file")
    return about.st_size


def read_bytes(path: str, argument: str, most: int) -> bytes:
    """Returns the content of a file.

    Args:
      path: the file.
      argument: beginning of messages, such as "--data".
      most: bytes that it may have.

    Returns:
      all of its bytes.

    Raises:
      InputError: it cannot be read, or is larger.
    """
    size = require_regular(path, argument)
    if size > most:
        raise InputError(f"{argument}: {path} has {size} bytes, at most {most} are expected")
    try:
        with open(path, "rb") as file:
            return file.read(most)
    except OSError as error:
        raise InputError(f"{argument}: cannot read {path}: {error.strerror}") from error


def checkpoint_size(path: str) -> int:
    """Returns the size of a checkpoint's files in bytes, as they are on the disk; 0 if there are none."""
    prefix = path.partition(".data-")[0]
    for ending in (".index", ".meta"):
        prefix = prefix[: -len(ending)] if prefix.endswith(ending) else prefix
    names = glob.glob(glob.escape(prefix) + ".data-*") + [prefix + ".index", prefix]
    return sum(os.path.getsize(name) for name in names if os.path.isfile(name))
