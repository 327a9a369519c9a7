"""A disk on which no file may grow longer than some bytes, for this process."""

import contextlib
import resource


@contextlib.contextmanager
def full_disk(longest=16):
    """Context in which writing beyond `longest` bytes of a file fails, as on a full disk, with "File too large"."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (longest, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
