"""Processes that Ctrl-C does not reach."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator

if sys.version_info >= (3, 8):
    from multiprocessing import resource_tracker
else:  # for TensorFlow 1.x
    from multiprocessing import semaphore_tracker as resource_tracker


@contextlib.contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Context in which processes are started that never see Ctrl-C: it reaches the whole group, the parent decides."""
    resource_tracker.ensure_running()  # it comes with the first child, and unblocks SIGINT (Python before 3.12)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
