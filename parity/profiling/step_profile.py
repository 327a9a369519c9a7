"""Profile of a step: time of its kernels by kind, and how each device spends the time, from kernel events."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from parity.profiling.kernel_events import KernelEvent
from parity.profiling.op_kinds import INPUT, PRODUCTS, WAITING, kind_of_op


class DeviceTime(NamedTuple):
    """Shares of the profiled time on one device; they add up to one.

    Attributes:
      device: such as "CPU:1".
      computing: at least one kernel computes.
      input: none does, and an op waits for the next batch.
      other_devices: nothing of that, and a kernel computes on another device.
      transfers: nothing of that, and a transfer or collective is under way.
      dispatch: nothing runs anywhere: the time between kernels, in which ops are launched.
    """

    device: str
    computing: float
    input: float
    other_devices: float
    transfers: float
    dispatch: float


class StepProfile(NamedTuple):
    """Where the time of a step goes.

    Attributes:
      seconds: of one step under the profiler, which slows a step down.
      kinds: {kind of op: seconds of its kernels in one step, summed over devices}, longest first; without the ops that
        only wait.
      ops: {type of op: the same}, longest first.
      devices: how each device spends the time.
    """

    seconds: float
    kinds: dict[str, float]
    ops: dict[str, float]
    devices: list[DeviceTime]

    def kernel_share(self, kind: str) -> float:
        """Returns the share of a kind of op in the time of all kernels."""
        return self.kinds.get(kind, 0.0) / (sum(self.kinds.values()) or 1.0)

    def to_json(self) -> dict[str, Any]:
        """Returns the profile for `--json`; times in seconds."""
        return {
            "profiled_seconds": self.seconds,
            "kinds": self.kinds,
            "ops": self.ops,
            "products_share": self.kernel_share(PRODUCTS),
            "devices": [device._asdict() for device in self.devices],
        }


def profile_of_events(events: Sequence[KernelEvent], steps: int) -> StepProfile:
    """Returns the profile of one step from the kernel events of several.

    Args:
      events: of `steps` steps, at least one event.
      steps: number of steps.
    """
    seconds = (max(event.end for event in events) - min(event.start for event in events)) / 1e9
    kinds: collections.defaultdict[str, float] = collections.defaultdict(float)
    ops: collections.defaultdict[str, float] = collections.defaultdict(float)
    for event in events:
        kind = kind_of_op(event.op)
        if kind not in WAITING:
            kinds[kind] += (event.end - event.start) / 1e9 / steps
            ops[event.op] += (event.end - event.start) / 1e9 / steps
    devices = [_time_of_device(device, events, seconds) for device in sorted({event.device for event in events})]
    return StepProfile(seconds / steps, _longest_first(kinds), _longest_first(ops), devices)


def _longest_first(seconds: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(seconds.items(), key=lambda entry: -entry[1]))


def _time_of_device(device: str, events: Iterable[KernelEvent], seconds: float) -> DeviceTime:
    """Shares of the time on a device, each kind of waiting without the times of the kinds before it."""
    here: list[tuple[float, float]] = []
    elsewhere: list[tuple[float, float]] = []
    inputs: list[tuple[float, float]] = []
    transfers: list[tuple[float, float]] = []
    for event in events:
        kind, span = kind_of_op(event.op), (event.start, event.end)
        if kind not in WAITING:
            (here if event.device == device else elsewhere).append(span)
        elif event.device == device:
            (inputs if kind == INPUT else transfers).append(span)
    lengths, covered = [0.0], list[tuple[float, float]]()
    for spans in (here, inputs, elsewhere, transfers):
        covered += spans
        lengths.append(union_length(covered) / 1e9 / seconds)
    lengths.append(1.0)
    return DeviceTime(device, *(after - before for before, after in itertools.pairwise(lengths)))


def union_length(spans: Iterable[tuple[float, float]]) -> float:
    """Returns the length of the union of intervals (start, end).

    >>> union_length([(0, 2), (1, 3), (5, 6)])
    4.0
    """
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total
