"""The C library's allocator: how much freed memory it keeps for the next step.

By default glibc gives large blocks back to the system as soon as they are freed and takes them again in the next step,
whose first touch of each page is then a page fault. See mallopt(3).
"""

from __future__ import annotations

import ctypes
import os
import sys

#: {environment variable of glibc: (its parameter in `mallopt`, bytes)}: blocks up to 32 MiB, the most that glibc
#: allows, come from memory that is kept, of which 1 GiB may be free.
SETTINGS = {"MALLOC_MMAP_THRESHOLD_": (-3, 2**25), "MALLOC_TRIM_THRESHOLD_": (-1, 2**30)}


def keep_freed_memory() -> None:
    """Makes glibc keep freed memory, unless environment variables of the user's say something else.

    Other C libraries are left alone.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    for variable, (parameter, size) in SETTINGS.items():
        if variable not in os.environ:
            mallopt(parameter, size)
