"""Kernel events: when each op of a step ran and on which device, from TensorFlow's profiler."""

from __future__ import annotations

import collections
import glob
import os
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import tensorflow as tf

if TYPE_CHECKING:
    from legacy.towers.graph_program import GraphProgram
    from workloads.program import Program


#: Start of the names of a profile's planes of GPUs; the others are of the host.
_GPU_PLANE = "/device:GPU:"

#: Name of the statistic of a GPU's event that says which op launched it.
_OP_STATISTIC = "tf_op"


class KernelEvent(NamedTuple):
    """One run of an op's kernel.

    Attributes:
      op: the op's type, such as "Conv2D".
      device: such as "CPU:1" or "GPU:0".
      start: nanoseconds.
      end: nanoseconds.
      node: name of the node in its device's graph.
    """

    op: str
    device: str
    start: float
    end: float
    node: str = ""


def short_device(device: str) -> str:
    """Returns the device type and number of a full device name.

    >>> short_device("/job:localhost/replica:0/task:0/device:CPU:1")
    'CPU:1'
    """
    return device.rpartition("device:")[2]


def events_of_steps(program: Program, steps: int) -> list[KernelEvent]:
    """Takes steps under the profiler and returns their kernel events.

    Args:
      program: towers in a session, or a port whose loop over steps is not traced yet: TensorFlow exports the graphs of
        a function's devices at its first run only.
      steps: number of steps under the profiler; before them, others fetch the devices' graphs.
    """
    partitions = device_graphs(program)
    return list(kernel_events(profile_of_run(lambda: program.run(steps)), partitions))


def device_graphs(program: Program) -> list[tf.compat.v1.GraphDef]:
    """Takes a few steps and returns the graphs that a step was partitioned into, one or more a device.

    Args:
      program: as for `events_of_steps`.
    """
    return _session_partitions(program) if program.side == "legacy" else _function_partitions(program)


def _session_partitions(program: Program) -> list[tf.compat.v1.GraphDef]:
    """The devices' graphs as the session optimized them, of a step of each train op of the towers."""
    v1 = tf.compat.v1
    towers = cast("GraphProgram", program)
    graphs = []
    for _ in towers.train_nodes():
        metadata = v1.RunMetadata()
        towers.run_traced(v1.RunOptions(output_partition_graphs=True), metadata)
        graphs.extend(metadata.partition_graphs)
    program.run(2)  # a session prepares the ops of its first steps, and of a run's last one, when it first runs them
    return graphs


def _function_partitions(program: Program) -> list[tf.compat.v1.GraphDef]:
    return partitions_of_first_run(lambda: program.run(1))


def partitions_of_first_run(function: Callable[[], object]) -> list[tf.compat.v1.GraphDef]:
    """Runs `tf.function`s for the first time and returns the graphs that they were partitioned into."""
    from tensorflow.python.eager import context

    context.enable_run_metadata()  # the only way to the partitions of a function
    try:
        function()
        metadata = context.export_run_metadata()
    finally:
        context.disable_run_metadata()
        context.context().disable_graph_collection()  # which goes on otherwise: the next export would have them all
    return [graph for graphs in metadata.function_graphs for graph in graphs.partition_graphs]


def profile_of_run(function: Callable[[], object]) -> Any:
    """Runs a function under the profiler and returns the `XSpace` that it wrote."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        try:
            function()
        finally:
            tf.profiler.experimental.stop()
        space = xplane_pb2.XSpace()
        (path,) = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
        with open(path, "rb") as file:
            space.ParseFromString(file.read())
    return space


def kernel_events(space: Any, partitions: Iterable[tf.compat.v1.GraphDef]) -> Iterator[KernelEvent]:
    """Yields a profile's kernel events.

    Args:
      space: the profile, an `XSpace`; on a CPU the events of kernels are called "node:Op". A GPU's events are called
        by the names of its own kernels, and their statistic "tf_op" is "node:Op".
      partitions: the graphs of the devices, which say where a node runs.
    """
    devices = {node.name: short_device(node.device) for graph in partitions for node in graph.node}
    for plane in space.planes:
        if plane.name.startswith(_GPU_PLANE):
            yield from _gpu_events(plane, devices)
        else:
            yield from _cpu_events(plane, devices)


def _cpu_events(plane: Any, devices: Mapping[str, str]) -> Iterator[KernelEvent]:
    for line in plane.lines:
        for event in line.events:
            node, _, op = plane.event_metadata[event.metadata_id].name.rpartition(":")
            if _is_cpu(devices.get(node, "")):  # the host's event of a GPU's op is its launch
                yield KernelEvent(op, devices[node], *_span(line, event), node)


def _gpu_events(plane: Any, devices: Mapping[str, str]) -> Iterator[KernelEvent]:
    """The events of one card, which several logical devices may share: each has streams, the plane's lines, of its own.

    An event without an op, or of an op that the graphs do not name, such as a copy between them, belongs to the device
    of the other events in its stream.
    """
    statistics = {number for number, metadata in plane.stat_metadata.items() if metadata.name == _OP_STATISTIC}
    for line in plane.lines:
        names = [_op_of_gpu_event(plane, event, statistics) for event in line.events]
        here = collections.Counter(devices[node] for node, _ in names if not _is_cpu(devices.get(node, "CPU")))
        if here:
            ((device, _),) = here.most_common(1)
            for (node, op), event in zip(names, line.events):
                yield KernelEvent(op, device, *_span(line, event), node)


def _op_of_gpu_event(plane: Any, event: Any, statistics: Container[int]) -> tuple[str, str]:
    """The (node, op) that a GPU's event belongs to; without one, ("", the first word of its own name)."""
    for statistic in event.stats:
        if statistic.metadata_id in statistics:
            text = statistic.str_value or plane.stat_metadata[statistic.ref_value].name
            node, _, op = text.rpartition(":")
            return node, op
    return "", plane.event_metadata[event.metadata_id].name.partition(" ")[0]


def _is_cpu(device: str) -> bool:
    return device.startswith("CPU")


def _span(line: Any, event: Any) -> tuple[float, float]:
    """The start and end of an event in nanoseconds."""
    start = line.timestamp_ns + event.offset_ps / 1000
    return start, start + event.duration_ps / 1000
