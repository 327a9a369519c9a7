"""Device traces of made-up graphs, step statistics and profiles."""

import pytest
import tensorflow as tf

from parity.profiling import device_trace
from parity.profiling.device_trace import DeviceTrace, Span, Transfers

CPUS = ["/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:1"]


def whole_graph():
    """A graph with a fed matrix of 2 x 3 floats, and a split of it in which each part has 2 x 1."""
    with tf.Graph().as_default() as graph:
        fed = tf.compat.v1.placeholder(tf.float32, (2, 3), name="x")
        tf.split(fed, 3, axis=1, name="parts")
    return graph


def sending_partition(*inputs, op="_Send"):
    """The graph of CPU:0, which sends `inputs` to CPU:1."""
    partition = tf.compat.v1.GraphDef()
    for number, name in enumerate(inputs):
        node = partition.node.add(name=f"send{number}", op=op, input=[name], device=CPUS[0])
        node.attr["send_device"].s = CPUS[0].encode()
        node.attr["recv_device"].s = CPUS[1].encode()
    return partition


@pytest.mark.parametrize(
    "name, size", [("x", 24), ("parts", 8), ("parts:2", 8), ("_arg_x_0_7", 24), ("made_up_for_a_control_edge", 0)]
)
def test_bytes_of_a_sent_tensor(name, size):
    transfers = device_trace.count_transfers([sending_partition(name)], whole_graph())
    assert transfers == Transfers({("CPU:0", "CPU:1"): size}, 1 if size else 0)


def test_all_tensors_between_two_devices_are_added_up():
    partitions = [sending_partition("x", "parts:1"), sending_partition("parts", op="_HostSend")]
    assert device_trace.count_transfers(partitions, whole_graph()) == Transfers({("CPU:0", "CPU:1"): 40}, 3)


def test_other_ops_send_nothing():
    assert device_trace.count_transfers([sending_partition("x", op="_Recv")], whole_graph()) == Transfers({}, 0)


def test_a_device_is_busy_while_any_of_its_ops_runs():
    spans = {"CPU:0": [Span(1e9, 2e9), Span(1.5e9, 3e9)], "CPU:1": [Span(4e9, 5e9)]}
    trace = device_trace.make_device_trace(Transfers({("CPU:0", "CPU:1"): 8}, 1), spans)
    assert trace == DeviceTrace({("CPU:0", "CPU:1"): 8}, 1, {"CPU:0": 2.0, "CPU:1": 1.0}, 4.0)


class TracedTowers:
    """Fills the metadata that a session would fill."""

    graph = whole_graph()

    def run_traced(self, options, metadata):
        assert options.output_partition_graphs
        device = metadata.step_stats.dev_stats.add(device=CPUS[0])
        device.node_stats.add(node_name="a", all_start_nanos=1000, all_end_rel_nanos=500)
        device.node_stats.add(node_name="b", all_start_micros=2, all_end_rel_nanos=0)  # an older profile, a short op
        metadata.partition_graphs.append(sending_partition("x"))


def test_a_session_is_traced_from_its_metadata():
    trace = device_trace.trace_session(TracedTowers())
    assert (trace.crossing, trace.tensors) == ({("CPU:0", "CPU:1"): 24}, 1)
    assert trace.busy == {"CPU:0": 501 / 1e9} and trace.seconds == 1001 / 1e9
