"""Kernel events of made-up profiles."""

import pytest
import tensorflow as tf

from parity.profiling import kernel_events
from parity.profiling.kernel_events import KernelEvent

CPUS = ["/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:1"]


def graph_of(name, op, device):
    partition = tf.compat.v1.GraphDef()
    partition.node.add(name=name, op=op, device=device)
    return partition


def profile():
    """A profile with a kernel of the node "send0", one of another graph, and an event that is no kernel."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    plane = space.planes.add()
    for number, name in enumerate(["send0:_Send", "other:MatMul", "no_node"]):
        plane.event_metadata[number].name = name
    line = plane.lines.add(timestamp_ns=100)
    for number in range(3):
        line.events.add(metadata_id=number, offset_ps=2000, duration_ps=3000)
    return space


def test_kernels_are_the_events_that_name_a_node():
    found = list(kernel_events.kernel_events(profile(), [graph_of("send0", "_Send", CPUS[1])]))
    assert found == [KernelEvent("_Send", "CPU:1", 102.0, 105.0, "send0")]


GPUS = ["/job:localhost/replica:0/task:0/device:GPU:0", "/job:localhost/replica:0/task:0/device:GPU:1"]


def gpu_profile(streams):
    """A profile of one card: {stream: [(name of the card's kernel, its op or None)]}, events of 3 ns from 102 ns on."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    plane = space.planes.add(name="/device:GPU:0")
    plane.stat_metadata[7].name = "tf_op"
    for stream, kernels in streams.items():
        line = plane.lines.add(name=stream, timestamp_ns=100)
        for name, op in kernels:
            number = len(plane.event_metadata)
            plane.event_metadata[number].name = name
            event = line.events.add(metadata_id=number, offset_ps=2000, duration_ps=3000)
            if op is not None:
                plane.stat_metadata[100 + number].name = op
                event.stats.add(metadata_id=7, ref_value=100 + number)
    return space


def test_logical_devices_of_one_card_are_distinguished_by_their_streams():
    graphs = [graph_of("a/conv", "Conv2D", GPUS[0]), graph_of("b/conv", "Conv2D", GPUS[1])]
    streams = {
        "Stream #13": [("void cudnn::kernel<float>", "a/conv:Conv2D"), ("Memset 3", None)],
        "Stream #17": [("void cudnn::kernel<float>", "b/conv:Conv2D"), ("MemcpyD2H", "unknown/_7:_Send")],
        "Stream #18": [("MemcpyH2D", None)],  # nothing says whose
    }
    found = list(kernel_events.kernel_events(gpu_profile(streams), graphs))
    assert found == [
        KernelEvent("Conv2D", "GPU:0", 102.0, 105.0, "a/conv"),
        KernelEvent("Memset", "GPU:0", 102.0, 105.0, ""),
        KernelEvent("Conv2D", "GPU:1", 102.0, 105.0, "b/conv"),
        KernelEvent("_Send", "GPU:1", 102.0, 105.0, "unknown/_7"),
    ]


def test_the_launch_of_a_kernel_on_the_host_is_not_counted_as_the_kernel():
    assert list(kernel_events.kernel_events(profile(), [graph_of("send0", "_Send", GPUS[0])])) == []


class Towers:
    """A legacy program with two train ops, each with a device's graph of its own."""

    side = "legacy"
    taken = 0

    def train_nodes(self):
        return ["a", "b"]

    def run_traced(self, options, metadata):
        assert options.output_partition_graphs
        metadata.partition_graphs.append(graph_of(["other", "send0"][self.taken], "MatMul", CPUS[self.taken]))
        self.taken += 1

    def run(self, steps):
        self.taken += steps


def test_towers_are_traced_once_for_each_train_op(monkeypatch):
    towers = Towers()
    monkeypatch.setattr(kernel_events, "profile_of_run", lambda function: function() or profile())
    devices = {event.op: event.device for event in kernel_events.events_of_steps(towers, 5)}
    assert devices == {"MatMul": "CPU:0", "_Send": "CPU:1"} and towers.taken == 2 + 2 + 5


def test_the_profiler_stops_after_an_error():
    def fail():
        raise KeyError("in the step")

    with pytest.raises(KeyError):
        kernel_events.profile_of_run(fail)
    assert kernel_events.profile_of_run(lambda: tf.constant(1.0)).planes


def test_the_short_name_of_a_device():
    assert [kernel_events.short_device(device) for device in CPUS] == ["CPU:0", "CPU:1"]


def test_the_partitions_are_those_of_this_run_alone():
    one = tf.constant(1.0)
    first, between, last = (tf.function(lambda x, op=op: op(x)) for op in (tf.math.exp, tf.math.log, tf.math.sin))
    kernel_events.partitions_of_first_run(lambda: first(one))
    between(one)
    partitions = kernel_events.partitions_of_first_run(lambda: last(one))
    ops = {node.op for partition in partitions for node in partition.node}
    assert "Sin" in ops and not {"Exp", "Log"} & ops
