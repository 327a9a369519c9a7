"""Lock of a checkpoint folder: one run at a time writes there."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import time
from collections.abc import Iterator

from workloads.support.errors import InputError

try:
    import fcntl
except ImportError:  # not on Windows, where nothing is locked
    fcntl = None  # type: ignore[assignment]  # checked before each use

#: Name of the file in the folder. It stays there: what counts is the lock on it, which ends with its process.
NAME = ".lock"

#: Seconds to wait for a process that was just killed and is still ending.
PATIENCE = 3.0


@contextlib.contextmanager
def locked_folder(folder: str) -> Iterator[None]:
    """Context in which no other process, of this machine or another that shares the folder, has it locked.

    The lock is a record lock of POSIX, which network file systems pass on. A file system without locks locks nothing.

    Args:
      folder: of checkpoints; made if it does not exist.

    Raises:
      InputError: another run uses the folder, or it cannot be made or written.
    """
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InputError(f"--checkpoint_dir: cannot make {folder}: {error.strerror}")
    try:
        descriptor = os.open(os.path.join(folder, NAME), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"--checkpoint_dir: cannot write {folder}: {error.strerror}")
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)  # and with it the lock


def _lock(descriptor: int, folder: str) -> None:
    """Locks the open file, and writes into it who has done so."""
    if fcntl is None:
        return
    end = time.monotonic() + PATIENCE
    while not _try_lock(descriptor):
        if time.monotonic() > end:
            owner = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip() or "another process"
            raise InputError(
                f"--checkpoint_dir: got {folder!r}, in use by another run ({owner}); end it, or name another folder"
            )
        time.sleep(0.1)
    with contextlib.suppress(OSError):  # a full disk; the name is only for the message
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)


def _try_lock(descriptor: int) -> bool:
    """Locks the open file; returns False if another process has locked it."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN)
    return True
