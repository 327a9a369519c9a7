"""`without_progress`: what a command wrote to stderr besides what it was doing."""

from __future__ import annotations

import re

#: A line of `workloads.progress.display`, without a terminal.
_PROGRESS = re.compile(r"^\[ *\d+ s\] .*\n?", re.MULTILINE)


def without_progress(text: str) -> str:
    """Returns the text of a stderr without the lines that show progress.

    >>> without_progress("[  0 s] TensorFlow: loading\\nerror: --x: got 1\\n")
    'error: --x: got 1\\n'
    """
    return _PROGRESS.sub("", text)
