"""The C library's allocator: how much freed memory it keeps for the next step.

By default glibc gives large blocks back to the system as soon as they are freed and takes them again in the next step,
whose first touch of each page is then a page fault. See mallopt(3).
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import TYPE_CHECKING, Dict

if TYPE_CHECKING:
    from collections.abc import Mapping

#: {environment variable of glibc: (its parameter in `mallopt`, bytes)}: blocks up to 32 MiB, the most that glibc
#: allows, come from memory that is kept, of which 1 GiB may be free.
SETTINGS = {"MALLOC_MMAP_THRESHOLD_": (-3, 2**25), "MALLOC_TRIM_THRESHOLD_": (-1, 2**30)}


#: {environment variable of glibc: bytes} that this process has set.
_sizes: Dict[str, int] = {}


def keep_freed_memory() -> None:
    """Makes glibc keep freed memory, unless environment variables of the user's say something else.

    Other C libraries are left alone.
    """
    set_sizes({variable: size for variable, (_, size) in SETTINGS.items() if variable not in os.environ})


def set_sizes(sizes: Mapping[str, int]) -> None:
    """Sets glibc's allocator as environment variables would have at the start of the process.

    Args:
      sizes: {environment variable, one of `SETTINGS`: bytes}.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is None:
        return
    for variable, size in sizes.items():
        parameter, _ = SETTINGS[variable]
        mallopt(parameter, size)
    _sizes.update(sizes)


def restore() -> None:
    """Sets again what this process has set; nothing if it has set nothing.

    Call after a `tf.data` iterator was made: the first of them in a process that reads from Python or feeds several
    devices lowers the trim threshold to 128 KiB (TensorFlow 2.21, generator_dataset_op.cc).
    """
    set_sizes(dict(_sizes))
