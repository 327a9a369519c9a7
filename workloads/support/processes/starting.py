"""Ctrl-C while a command still imports its modules: one line and the exit status of any other Ctrl-C."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Optional, Type

from workloads.support.processes.ending import INTERRUPTED

if TYPE_CHECKING:
    from types import TracebackType


def watch_imports() -> None:
    """Ends a process that `python -m` starts in one line if Ctrl-C comes before the command runs.

    The command itself handles signals only once its modules are imported (`ending.watch_signals`). A process that
    imports these packages as a library is left alone: `python -m` sets the first argument to "-m" while it imports the
    package of its module, and to a path afterwards.
    """
    if sys.argv[:1] == ["-m"]:
        sys.excepthook = _end_interrupted


def _end_interrupted(kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
