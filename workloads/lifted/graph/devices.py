"""Devices of nodes, from the strings that programs gave them."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

_DEVICE = re.compile(r"/(?:device:)?(cpu|gpu):(\d+|\*)", re.IGNORECASE)


class Device(NamedTuple):
    """A device of one machine.

    Attributes:
      kind: "cpu" or "gpu".
      number: from 0; of "any one", as in "/cpu:*", 0, which is the one that TensorFlow takes.
    """

    kind: str
    number: int


@functools.lru_cache(maxsize=1024)  # a graph has many nodes and few devices
def device_of(text: str) -> Device | None:
    """Returns the device that a node's device string names; None if it names none.

    >>> device_of("/job:worker/task:1/device:GPU:3"), device_of("/cpu:*"), device_of("/job:ps")
    (Device(kind='gpu', number=3), Device(kind='cpu', number=0), None)
    """
    match = _DEVICE.search(text)
    return None if match is None else Device(match[1].lower(), 0 if match[2] == "*" else int(match[2]))
