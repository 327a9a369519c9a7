"""Random numbers by name: every stream is keyed by what it is for, never by the order of calls."""

from __future__ import annotations

import hashlib

import numpy as np

#: Distance between the keys of two iterations of a loop.
KEY_STRIDE = 7919


def digest(*parts: object) -> bytes:
    """Returns the SHA-256 of the parts' text, 32 bytes: the same on every machine, interpreter and run."""
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode("utf-8")).digest()


def generator(*parts: object) -> np.random.RandomState:
    """Returns a numpy generator for the stream that `parts` name.

    `RandomState` and not `Generator`: numpy guarantees its stream for good, so TensorFlow 1.15's numpy 1.18
    and today's numpy 2 draw the same numbers.
    """
    return np.random.RandomState(np.frombuffer(digest(*parts), dtype="<u4"))


def noise_key(seed: int, replica: int | str, name: str) -> int:
    """Identifies one noise stream of a run.

    Args:
      seed: of the run.
      replica: number of the replica, or a word for noise that replicas share.
      name: of the noise.

    Returns:
      a non-negative int32.
    """
    return int.from_bytes(digest("noise", seed, replica, name)[:4], "little") >> 1
