"""Prediction of a step: prices the ops and copies of its graph on a machine and schedules them."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from parity.prediction import collectives
from parity.prediction.machines.machine import DIRECT, Link, Machine, Processor
from parity.prediction.schedule import ALL_REDUCE, COMPUTE, COPY, Placed, Task, end_of, schedule
from parity.prediction.step_graph import HOST, Crossing, StepGraph, StepNode
from parity.prediction.work import seconds_of
from parity.profiling.step_profile import union_length
from workloads.support.errors import require
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.comparison.setup import Setup


class DeviceTimeline(NamedTuple):
    """Time of a device in a step, in seconds; the four parts add up to the step.

    Attributes:
      device: such as "GPU:1", or "CPU:0" for the host.
      compute: it runs a kernel.
      copies: it runs none, and sends or receives a tensor.
      all_reduce: nothing of that, and it takes part in an all-reduce.
      waiting: nothing of that.
    """

    device: str
    compute: float
    copies: float
    all_reduce: float
    waiting: float


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The predicted step of one side.

    Attributes:
      side: "legacy" or "modern".
      machine: name of the machine.
      replicas: number of towers or replicas.
      examples: number of examples in a step.
      seconds: of one step.
      devices: how each device spends it.
      crossing: {(from device, to device): bytes}.
      tasks: the ops and copies in time.
    """

    side: str
    machine: str
    replicas: int
    examples: int
    seconds: float
    devices: Sequence[DeviceTimeline]
    crossing: Mapping[tuple[str, str], float]
    tasks: Sequence[Placed] = dataclasses.field(repr=False, default=())

    @property
    def examples_per_second(self) -> float:
        """Examples that all replicas together take in a second."""
        return self.examples / self.seconds

    def to_json(self) -> dict[str, Any]:
        """Returns the prediction for `--json`; times in seconds."""
        return {
            "side": self.side,
            "machine": self.machine,
            "replicas": self.replicas,
            "seconds": self.seconds,
            "examples_per_second": self.examples_per_second,
            "devices": [device._asdict() for device in self.devices],
            "crossing": [[*ends, size] for ends, size in self.crossing.items()],
        }


def predict_step(setup: Setup, side: str, machine: Machine) -> Prediction:
    """Predicts the step of one side of a job on a machine.

    Args:
      setup: the job and how both sides run it; its own devices do not count.
      side: "legacy" or "modern".
      machine: to predict for; must have a device for each replica.

    Returns:
      the prediction.

    Raises:
      InputError: the machine has fewer devices than the job has replicas.
    """
    return predict(step_graph(setup, side, machine), machine)


def step_graph(setup: Setup, side: str, machine: Machine) -> StepGraph:
    """Reads the graph of a step of one side for a machine's devices; see `predict_step`.

    Args:
      setup: the job and how both sides run it.
      side: "legacy" or "modern".
      machine: the machine.

    Returns:
      the graph.

    Raises:
      InputError: the machine has fewer devices than the job has replicas.
    """
    from parity.prediction.legacy_graph import legacy_step_graph
    from parity.prediction.port_graph import port_step_graph

    count = setup.layer_devices or setup.job.replicas
    require(count <= machine.count, "--replicas", count, f"{machine.name} has {counted(machine.count, 'device')}")
    return legacy_step_graph(setup, machine) if side == "legacy" else port_step_graph(setup, machine)


def predict(graph: StepGraph, machine: Machine) -> Prediction:
    """Predicts the step of a graph on a machine.

    Args:
      graph: of one step, whose devices are the machine's: "CPU:0" for its host, "GPU:0", ... for its accelerators; or
        "CPU:0", "CPU:1", ... for logical devices of the host.
      machine: to predict for.

    Returns:
      the prediction.
    """
    placed = schedule(list(tasks_of(graph, machine)), {HOST: machine.host.lanes})
    seconds = end_of(placed) + host_seconds(graph, machine)
    crossing: collections.Counter[tuple[str, str]] = collections.Counter()
    for tensor in graph.crossings():
        crossing[tensor.start, tensor.end] += tensor.size  # type: ignore[assignment]  # a counter of bytes
    devices = sorted({node.device for node in graph.nodes})
    timelines = [device_timeline(device, placed, seconds) for device in devices]
    return Prediction(
        graph.side, machine.name, graph.replicas, graph.examples, seconds, timelines, dict(crossing), placed
    )


def host_seconds(graph: StepGraph, machine: Machine) -> float:
    """Returns the seconds of a step before its graph runs: the call, and the copies of what is fed."""
    further = machine.further_device * (len({node.device for node in graph.nodes}) - 1)
    if graph.side == "modern":
        calls = graph.calls * (machine.function_call + graph.captures * machine.capture)
        return calls + machine.loop + further
    return machine.call + further + sum(machine.feed + 2 * size / machine.host.bandwidth for size in graph.fed())


def tasks_of(graph: StepGraph, machine: Machine) -> Iterator[Task]:
    """Yields the tasks of a step: its ops, the copies between devices, and the all-reduces.

    Args:
      graph: see `predict`.
      machine: see `predict`.
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


def device_timeline(device: str, placed: Sequence[Placed], seconds: float) -> DeviceTimeline:
    """Returns how a device spends a step.

    Args:
      device: such as "GPU:1".
      placed: the step's tasks in time.
      seconds: of the step.

    Returns:
      the times, each kind as far as it is not hidden by those before it.
    """
    covered: list[tuple[float, float]] = []
    lengths = [0.0]
    for kind in (COMPUTE, COPY, ALL_REDUCE):
        covered += [(here.start, here.end) for here in placed if here.task.kind == kind and device in here.task.devices]
        lengths.append(union_length(covered))
    lengths.append(seconds)
    return DeviceTimeline(device, *(after - before for before, after in zip(lengths, lengths[1:])))
