"""Addresses of a cluster's tasks on this machine."""

from __future__ import annotations

import random
import socket

LOOPBACK = "127.0.0.1"
# Below the range that systems hand out by themselves, so that a port found free is still free a second later.
FIRST, LAST = 20000, 32000


def free_addresses(count: int) -> list[str]:
    """Returns `count` distinct addresses "127.0.0.1:port" on which nothing listens.

    Raises:
      OSError: there are too few.
    """
    draw = random.Random()
    found: list[str] = []
    held: list[socket.socket] = []
    try:
        for _ in range(50 * count):
            candidate = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            held.append(candidate)  # held until all are found: no port is found twice
            try:
                # On every interface, because that is where TensorFlow's servers listen.
                candidate.bind(("", draw.randrange(FIRST, LAST)))
            except OSError:
                continue
            found.append(f"{LOOPBACK}:{candidate.getsockname()[1]}")
            if len(found) == count:
                return found
    finally:
        for candidate in held:
            candidate.close()
    raise OSError(f"no {count} free ports between {FIRST} and {LAST}")
