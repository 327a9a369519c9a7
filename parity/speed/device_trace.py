"""What a step does on several devices, from a trace of a run: bytes that cross, and when each device is busy."""

from __future__ import annotations

import collections
import dataclasses
import glob
import os
import re
import tempfile
from typing import Dict, List, Tuple

import tensorflow as tf

#: What is fed to a session, as a node that sends it is told its source.
_FED = re.compile(r"_arg_(.*)_\d+_\d+")


@dataclasses.dataclass
class DeviceTrace:
    """One step.

    Attributes:
      crossing: {(from device, to device): bytes}.
      tensors: how many tensors cross.
      busy: {device: seconds in which it ran at least one op}.
      seconds: from the first op's start to the last one's end.
    """

    crossing: Dict[Tuple[str, str], int]
    tensors: int
    busy: Dict[str, float]
    seconds: float


def of_session(program):
    """Traces a step of a `LegacyProgram`, which takes it."""
    v1 = tf.compat.v1
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE, output_partition_graphs=True)
    seen = v1.RunMetadata()
    program.run_traced(options, seen)
    spans = collections.defaultdict(list)
    for device in seen.step_stats.dev_stats:
        for node in device.node_stats:
            start = node.all_start_nanos or node.all_start_micros * 1000
            spans[_short(device.device)].append((start, start + max(node.all_end_rel_nanos, 1)))
    return _trace(seen.partition_graphs, program.graph, spans)


def of_function(program, warm_up=3):
    """Traces a step of a `PipelineProgram`, which takes `warm_up` steps more and one that tells how it is partitioned."""
    from tensorflow.python.eager import context
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    function = program.one_step()
    context.enable_run_metadata()  # the only way to the partitions of a function; they are told at its first run
    try:
        function()
        told = context.export_run_metadata()
    finally:
        context.disable_run_metadata()
    partitions = [graph for each in told.function_graphs for graph in each.partition_graphs]
    for _ in range(warm_up):
        function()
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        function()
        tf.profiler.experimental.stop()
        space = xplane_pb2.XSpace()
        (path,) = glob.glob(os.path.join(folder, "**", "*.xplane.pb"), recursive=True)
        with open(path, "rb") as file:
            space.ParseFromString(file.read())
    return _trace(partitions, function.get_concrete_function().graph, _kernels(space, partitions))


def _kernels(space, partitions):
    """{device: [(start, end) in ns]} of a profile's kernels, whose events are called "node:Op"."""
    devices = {node.name: _short(node.device) for graph in partitions for node in graph.node}
    spans = collections.defaultdict(list)
    for plane in space.planes:
        for line in plane.lines:
            for event in line.events:
                node = plane.event_metadata[event.metadata_id].name.rpartition(":")[0]
                if node in devices:
                    start = line.timestamp_ns + event.offset_ps / 1000
                    spans[devices[node]].append((start, start + event.duration_ps / 1000))
    return spans


def _trace(partitions, graph, spans):
    crossing, tensors = collections.Counter(), 0
    for partition in partitions:
        for node in partition.node:
            if node.op in ("_Send", "_HostSend"):
                ends = _short(node.attr["send_device"].s.decode()), _short(node.attr["recv_device"].s.decode())
                size = _bytes(graph, node)
                crossing[ends] += size
                tensors += bool(size)
    every = [span for of_device in spans.values() for span in of_device]
    seconds = (max(end for _, end in every) - min(start for start, _ in every)) / 1e9
    return DeviceTrace(dict(crossing), tensors, {device: covered(spans[device]) / 1e9 for device in spans}, seconds)


def covered(spans: List[Tuple[float, float]]):
    """Length of the union of intervals."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _bytes(graph, send):
    """Of the tensor that a node sends, from the shape that the whole graph knows for it."""
    name, _, output = send.input[0].partition(":")
    fed = _FED.fullmatch(name)
    try:
        source = graph.get_operation_by_name(fed.group(1) if fed else name)
    except KeyError:  # a constant that the partition made up, to stand for a control edge
        return 0
    tensor = source.outputs[int(output or 0)]
    return tensor.shape.num_elements() * tensor.dtype.size


def _short(device):
    """CPU:1 of /job:localhost/replica:0/task:0/device:CPU:1."""
    return device.rpartition("device:")[2]
