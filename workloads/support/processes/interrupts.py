"""Processes that Ctrl-C does not reach."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from multiprocessing import resource_tracker


@contextlib.contextmanager
def without_ctrl_c() -> Iterator[None]:
    """Context in which processes are started that never see Ctrl-C: it reaches the whole group, the parent decides."""
    resource_tracker.ensure_running()  # it comes with the first child, and unblocks SIGINT (Python before 3.12)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
