"""Device trace of one step: bytes that cross between devices, and the time in which each device is busy."""

from __future__ import annotations

import collections
import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import tensorflow as tf

from parity.profiling.kernel_events import kernel_events, partitions_of_first_run, profile_of_run, short_device
from parity.profiling.step_profile import union_length

if TYPE_CHECKING:
    from legacy.towers.program import LegacyProgram
    from modern.model_parallel.program import PipelineProgram

#: Name of the node that sends a tensor fed to a session; the group is the name of the fed tensor's op.
_FED = re.compile(r"_arg_(.*)_\d+_\d+")

#: Ops that send a tensor to another device.
_SEND_OPS = ("_Send", "_HostSend")


class Span(NamedTuple):
    """The time in which one op ran, in nanoseconds."""

    start: float
    end: float


class Transfers(NamedTuple):
    """Tensors that cross between devices in one step.

    Attributes:
      crossing: {(from device, to device): bytes}.
      tensors: number of tensors that cross.
    """

    crossing: dict[tuple[str, str], int]
    tensors: int


@dataclasses.dataclass
class DeviceTrace:
    """The trace of one step.

    Attributes:
      crossing: {(from device, to device): bytes}.
      tensors: number of tensors that cross.
      busy: {device: seconds in which it ran at least one op}.
      seconds: from the first op's start to the last one's end.
    """

    crossing: dict[tuple[str, str], int]
    tensors: int
    busy: dict[str, float]
    seconds: float


def trace_session(program: LegacyProgram) -> DeviceTrace:
    """Takes one step of the towers under a full trace and returns it."""
    v1 = tf.compat.v1
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE, output_partition_graphs=True)
    metadata = v1.RunMetadata()
    program.run_traced(options, metadata)
    spans = collections.defaultdict(list)
    for device in metadata.step_stats.dev_stats:
        for node in device.node_stats:
            start = node.all_start_nanos or node.all_start_micros * 1000
            spans[short_device(device.device)].append(Span(start, start + max(node.all_end_rel_nanos, 1)))
    return make_device_trace(count_transfers(metadata.partition_graphs, program.graph), spans)


def trace_function(program: PipelineProgram, warm_up: int = 3) -> DeviceTrace:
    """Takes one step of the port under the profiler and returns its trace.

    Before it the program takes one step that exports the function's partitions, and `warm_up` more.
    """
    function: Any = program.one_step()
    partitions = partitions_of_first_run(function)
    for _ in range(warm_up):
        function()
    spans = collections.defaultdict(list)
    for event in kernel_events(profile_of_run(function), partitions):
        spans[event.device].append(Span(event.start, event.end))
    return make_device_trace(count_transfers(partitions, function.get_concrete_function().graph), spans)


def count_transfers(partitions: Iterable[tf.compat.v1.GraphDef], graph: tf.Graph) -> Transfers:
    """Returns the tensors that the devices' graphs send to each other.

    Args:
      partitions: the graphs of the devices.
      graph: the whole graph, which knows the tensors' shapes.
    """
    crossing: collections.Counter[tuple[str, str]] = collections.Counter()
    tensors = 0
    for partition in partitions:
        for node in partition.node:
            if node.op in _SEND_OPS:
                ends = [short_device(node.attr[end].s.decode()) for end in ("send_device", "recv_device")]
                size = _bytes_sent(graph, node)
                crossing[ends[0], ends[1]] += size
                tensors += bool(size)
    return Transfers(dict(crossing), tensors)


def make_device_trace(transfers: Transfers, spans: Mapping[str, list[Span]]) -> DeviceTrace:
    """Returns the trace of a step from its transfers and {device: spans of its ops}."""
    of_all_devices = [span for of_device in spans.values() for span in of_device]
    seconds = (max(span.end for span in of_all_devices) - min(span.start for span in of_all_devices)) / 1e9
    busy = {device: union_length(spans[device]) / 1e9 for device in spans}
    return DeviceTrace(transfers.crossing, transfers.tensors, busy, seconds)


def _bytes_sent(graph: tf.Graph, send: tf.compat.v1.NodeDef) -> int:
    """Returns the size of the tensor that a node sends, from its shape in the whole graph."""
    name, _, output = send.input[0].partition(":")
    fed = _FED.fullmatch(name)
    try:
        source = graph.get_operation_by_name(fed.group(1) if fed else name)
    except KeyError:  # a constant that the partitioning made up, to stand for a control edge
        return 0
    tensor = source.outputs[int(output or 0)]
    return tensor.shape.num_elements() * tensor.dtype.size
