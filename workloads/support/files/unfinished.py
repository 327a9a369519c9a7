"""Files and folders that are being written: removed if the process ends before they are complete."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Set

_paths: Set[str] = set()


@contextlib.contextmanager
def removed_unless_complete(path: str) -> Iterator[str]:
    """Context in which `path`, a file or a folder, is written and then renamed; it is removed if it was not."""
    path = os.path.abspath(path)
    _paths.add(path)
    try:
        yield path
    finally:
        remove(path)
        _paths.discard(path)


def remove_all() -> None:
    """Removes everything that is being written; for a process that ends in the middle of it."""
    for path in list(_paths):
        remove(path)


def remove(path: str) -> None:
    """Removes a file, or a folder with all that it holds, if it is there."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.remove(path)
