"""Tasks of a step on a machine: its ops, the copies between devices, and the all-reduces, each with its seconds."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence

from parity.prediction import collectives
from parity.prediction.machines.machine import DIRECT, Link, Machine, Processor
from parity.prediction.schedule import ALL_REDUCE, COMPUTE, COPY, Task
from parity.prediction.step_graph import HOST, Crossing, StepGraph, StepNode
from parity.prediction.work import seconds_of


def tasks_of(graph: StepGraph, machine: Machine) -> Iterator[Task]:
    """Yields the tasks of a step: its ops, the copies between devices, and the all-reduces.

    Args:
      graph: see `prediction.predict`.
      machine: see `prediction.predict`.
    """
    devices = {node.name: node.device for node in graph.nodes}
    for crossing in graph.crossings():
        yield from _copy_tasks(crossing, machine)
    groups: dict[str, list[StepNode]] = collections.defaultdict(list)
    for node in graph.nodes:
        if node.group:
            groups[node.group].append(node)
    for group, members in groups.items():
        yield _collective_task(group, members, devices, machine)
    for node in graph.nodes:
        needs = (node.group,) if node.group else _needs(node, devices)
        seconds = (0.0,) if node.group else seconds_of(node.op, node.work, node.dtype, _processor(node.device, machine))
        resource = HOST if machine.is_host_only else node.device
        yield Task(node.name, COMPUTE, seconds, (resource,) if any(seconds) else (), (node.device,), needs)


def _needs(node: StepNode, devices: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the tasks that an op waits for: ops of its device, and copies from others."""
    needs = dict.fromkeys(control for control in node.controls if control in devices)
    for edge in node.inputs:
        if edge.node in devices:
            needs[edge.node if devices[edge.node] == node.device else _copy_name(edge.tensor, node.device)] = None
    return tuple(needs)


def _copy_name(tensor: str, device: str) -> str:
    return f"{tensor} to {device}"


def _processor(device: str, machine: Machine) -> Processor:
    return machine.host if device.startswith("CPU") or machine.device is None else machine.device


def _copy_tasks(crossing: Crossing, machine: Machine) -> Iterator[Task]:
    """The copies that bring a tensor to another device: one, or two through the host's memory."""
    tensor, producer, size, start, end = crossing
    name, ends = _copy_name(tensor, end), (start, end)
    if machine.is_host_only:  # logical devices share the host's memory: a tensor is handed over
        yield Task(name, COPY, (machine.host_link.latency,), (HOST,), ends, (producer,))
    elif HOST in ends:
        yield Task(name, COPY, (machine.host_link.seconds(size),), (_connection(*ends),), ends, (producer,))
    elif machine.peer_link is None:
        seconds = (machine.host_link.seconds(size),)
        yield Task(f"{name} 1", COPY, seconds, (_connection(start, HOST),), (start,), (producer,))
        yield Task(name, COPY, seconds, (_connection(HOST, end),), (end,), (f"{name} 1",))
    else:
        own = (f"{start} sends", f"{end} receives")
        shared = (_connection(start, HOST), _connection(HOST, end))
        resources = own if machine.topology == DIRECT else shared
        yield Task(name, COPY, (machine.peer_link.seconds(size),), resources, ends, (producer,))


def _connection(start: str, end: str) -> str:
    """Name of the connection of one device with the host, in one direction."""
    return f"{start} to {end}"


def _collective_task(group: str, members: Sequence[StepNode], devices: Mapping[str, str], machine: Machine) -> Task:
    """The all-reduce that some ops on different devices run together; it waits for the tensors of all."""
    ends = tuple(member.device for member in members)
    size = max((edge.size for member in members for edge in member.inputs), default=0.0)
    needs = tuple(dict.fromkeys(need for member in members for need in _needs(member, devices)))
    if machine.is_host_only:
        seconds = host_all_reduce_seconds(size, len(members), machine)
        return Task(group, ALL_REDUCE, (seconds,), (HOST,), ends, needs)
    _, seconds = collectives.fastest(size, len(members), machine.collective_link)
    return Task(group, ALL_REDUCE, (seconds,), tuple(f"{device} sends" for device in ends), ends, needs)


def host_all_reduce_seconds(size: float, members: int, machine: Machine) -> float:
    """Returns the seconds of an all-reduce between logical devices of one CPU.

    Each of them reads and writes its part in memory, and waits for the messages of a ring: as long as was measured
    (`ring_link`), or for the dispatch of an op.

    Args:
      size: bytes that each member has.
      members: number of members.
      machine: a machine without accelerators.

    Returns:
      the seconds.
    """
    message = machine.ring_link.latency if machine.ring_link else machine.host.launch
    memory = Link("memory", machine.host.bandwidth / (3 * members), message)  # two reads and a write for each byte
    return collectives.ring_seconds(size, members, memory) if members > 1 else 0.0
