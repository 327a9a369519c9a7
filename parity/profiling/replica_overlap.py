"""Overlap of towers or replicas in time: how long two or more of them run kernels, from kernel events of a step."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from parity.profiling.kernel_events import KernelEvent, device_graphs, kernel_events, profile_of_run, short_device
from parity.profiling.op_kinds import UPDATES, WAITING, kind_of_op

if TYPE_CHECKING:
    import tensorflow as tf

    from workloads.program import Program

#: (start, end) of an interval, in any unit.
Span = tuple[float, float]

#: Ops by which a loop goes on to its next iteration: what lies behind is another step.
_NEXT_STEP = ("NextIteration", "RefNextIteration")


class Overlap(NamedTuple):
    """Overlap of the replicas in one step.

    Attributes:
      of_step: share of the step during which two or more replicas run kernels.
      of_replicas: share of the time in which any replica runs kernels.
    """

    of_step: float
    of_replicas: float


def overlaps_of_steps(program: Program, devices: Sequence[str], steps: int) -> list[Overlap]:
    """Takes steps, each under the profiler by itself.

    Args:
      program: towers in a session, or a port whose loop over steps is not traced yet.
      devices: the device of each replica, such as "CPU:1".
      steps: number of steps.

    Returns:
      the overlap in each step.
    """
    graphs = device_graphs(program)
    program.run(1)
    combining = nodes_behind_other_devices(graphs, devices[0])
    profiles = [profile_of_run(lambda: program.run(1)) for _ in range(steps)]
    return [overlap_of_events(list(kernel_events(profile, graphs)), devices, combining) for profile in profiles]


def overlap_of_events(events: Sequence[KernelEvent], devices: Sequence[str], combining: Collection[str]) -> Overlap:
    """Measures the overlap of the replicas in a step.

    A replica's own kernels are those on its device that compute: neither transfers and input, nor updates, nor what
    combines the replicas' gradients.

    Args:
      events: of one step.
      devices: the device of each replica.
      combining: nodes of the step that are no replica's own.

    Returns:
      the overlap; none where no replica runs a kernel.
    """
    own: dict[str, list[Span]] = {device: [] for device in devices}
    step: list[Span] = []
    for event in events:
        kind, span = kind_of_op(event.op), (event.start, event.end)
        if kind in WAITING:
            continue
        step.append(span)
        if kind != UPDATES and event.node not in combining and event.device in own:
            own[event.device].append(span)
    alone, together = time_of_one_and_of_several(own.values())
    if not alone + together:
        return Overlap(0.0, 0.0)
    length = max(end for _, end in step) - min(start for start, _ in step)
    return Overlap(together / length, together / (alone + together))


def time_of_one_and_of_several(groups: Iterable[Sequence[Span]]) -> tuple[float, float]:
    """Returns how long exactly one group, and how long two or more groups, have an interval under way.

    >>> time_of_one_and_of_several([[(0, 4), (1, 2)], [(3, 6)]])
    (5.0, 1.0)
    """
    # At the same moment ends come before starts: intervals that only touch do not overlap.
    changes = sorted(
        (moment, change, number)
        for number, spans in enumerate(groups)
        for start, end in spans
        for moment, change in ((start, 1), (end, -1))
        if start < end
    )
    open_spans: collections.Counter[int] = collections.Counter()
    running, before, lengths = 0, 0.0, [0.0, 0.0]
    for moment, change, number in changes:
        if running:
            lengths[running > 1] += moment - before
        was_open = open_spans[number] > 0
        open_spans[number] += change
        running += (open_spans[number] > 0) - was_open
        before = moment
    return lengths[0], lengths[1]


def nodes_behind_other_devices(graphs: Iterable[tf.compat.v1.GraphDef], device: str) -> set[str]:
    """Returns the nodes on a device that compute with a tensor from another device, within the same step.

    On the first replica's device these are the nodes that combine the replicas' gradients, and those that use the
    result. Control edges are not followed: an input may order the whole step behind another device's batch.

    Args:
      graphs: the graphs of the devices.
      device: such as "CPU:0".
    """
    found: set[str] = set()
    for graph in graphs:
        nodes = {node.name: node for node in graph.node if short_device(node.device) == device}
        users = collections.defaultdict(list)
        for node in nodes.values():
            for name in node.input:
                users[name.partition(":")[0]].append(node.name)  # that of a control edge begins with "^"
        open_ends = [node.name for node in nodes.values() if _comes_from_elsewhere(node, device)]
        while open_ends:
            name = open_ends.pop()
            if name not in found and nodes[name].op not in _NEXT_STEP:
                found.add(name)
                open_ends += users[name]
    return found


def _comes_from_elsewhere(node: tf.compat.v1.NodeDef, device: str) -> bool:
    return node.op in ("_Recv", "_HostRecv") and short_device(node.attr["send_device"].s.decode()) != device
