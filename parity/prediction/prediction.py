"""Prediction of a step: prices the ops and copies of its graph on a machine and schedules them."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from parity.prediction.machines.machine import Machine
from parity.prediction.schedule import ALL_REDUCE, COMPUTE, COPY, Placed, end_of, schedule
from parity.prediction.step_graph import HOST, StepGraph
from parity.prediction.step_tasks import tasks_of
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
    """Returns the seconds of a step before its graph runs: the call, and the copies of fed tensors."""
    further = machine.further_device * (len({node.device for node in graph.nodes}) - 1)
    if graph.side == "modern":
        calls = graph.calls * (machine.function_call + graph.captures * machine.capture)
        return calls + machine.loop + further
    return machine.call + further + sum(machine.feed + 2 * size / machine.host.bandwidth for size in graph.fed())


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
