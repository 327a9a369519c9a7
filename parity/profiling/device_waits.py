"""Where kernels run: each device's share of the kernels' time, and the op that it waits for longest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from parity.profiling.kernel_events import KernelEvent
from parity.profiling.op_kinds import WAITING, kind_of_op


class Wait(NamedTuple):
    """The longest time in a step in which a device runs nothing.

    Attributes:
      node: the op that runs after it; "" where the device runs nothing until the step ends.
      op: its type.
      share: of the step.
    """

    node: str
    op: str
    share: float


def kernel_share(events: Iterable[KernelEvent], device: str) -> float:
    """Returns the share of the kernels' time, summed over kernels, that is spent on a device; 0 without kernels."""
    lengths = {True: 0.0, False: 0.0}
    for event in _computing(events):
        lengths[event.device == device] += event.end - event.start
    total = sum(lengths.values())
    return lengths[True] / total if total else 0.0


def longest_wait(events: Iterable[KernelEvent], device: str) -> Wait:
    """Finds the op that a device waits for longest.

    Args:
      events: of one step, at least one that computes.
      device: such as "CPU:1".

    Returns:
      the wait; the whole step where nothing runs on the device.
    """
    computing = _computing(events)
    start, end = computing[0].start, max(event.end for event in computing)
    reached, waits = start, list[tuple[float, str, str]]()
    for event in computing:
        if event.device == device:
            waits.append((event.start - reached, event.node, event.op))
            reached = max(reached, event.end)
    waits.append((end - reached, "", ""))
    length, node, op = max(waits, key=lambda wait: wait[0])
    return Wait(node, op, length / (end - start))


def _computing(events: Iterable[KernelEvent]) -> list[KernelEvent]:
    """The events of ops that do not wait themselves, by their start."""
    return sorted((event for event in events if kind_of_op(event.op) not in WAITING), key=lambda event: event.start)
