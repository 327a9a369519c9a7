"""Overlap of replicas, from intervals, events and graphs that are made up."""

import pytest
import tensorflow as tf

from parity.profiling import replica_overlap
from parity.profiling.kernel_events import KernelEvent
from parity.profiling.replica_overlap import Overlap, time_of_one_and_of_several

CPUS = [f"/job:localhost/replica:0/task:0/device:CPU:{number}" for number in range(2)]


@pytest.mark.parametrize(
    "groups, alone, together",
    [
        ([[(0, 8)], [(0, 8)]], 0, 8),
        ([[(0, 4)], [(4, 8)]], 8, 0),  # one after the other, without a gap
        ([[(0, 4)], [(6, 8)]], 6, 0),
        ([[(0, 4)], [(3, 8)]], 7, 1),
        ([[(0, 4), (1, 3)], []], 4, 0),  # one group's own intervals do not overlap with each other
        ([[(0, 8)], [(1, 3)], [(2, 5)]], 4, 4),  # three at a time are counted once
        ([[(2, 2)], [(0, 4)]], 4, 0),
        ([], 0, 0),
    ],
)
def test_time_of_one_and_of_several_groups(groups, alone, together):
    assert time_of_one_and_of_several(groups) == (alone, together)
    assert time_of_one_and_of_several(groups[::-1]) == (alone, together)


def event(op, device, start, end, node=""):
    return KernelEvent(op, device, start, end, node)


TOGETHER = [event("MatMul", "CPU:0", 0, 4), event("MatMul", "CPU:1", 2, 6)]


def test_the_overlap_is_a_share_of_the_step_and_of_the_replicas_time():
    step = [*TOGETHER, event("ResourceApplyAdam", "CPU:0", 6, 8)]
    assert replica_overlap.overlap_of_events(step, ["CPU:0", "CPU:1"], ()) == Overlap(2 / 8, 2 / 6)


@pytest.mark.parametrize("op", ["ResourceApplyAdam", "_Recv", "QueueDequeueV2"])
def test_updates_and_waiting_are_no_replicas_own(op):
    step = [event("MatMul", "CPU:0", 0, 4), event(op, "CPU:1", 0, 4)]
    assert replica_overlap.overlap_of_events(step, ["CPU:0", "CPU:1"], ()) == Overlap(0, 0)


def test_combining_and_other_devices_are_no_replicas_own():
    mean = event("Mean", "CPU:0", 2, 6, "mean")
    step = [event("MatMul", "CPU:1", 0, 8), mean, event("MatMul", "CPU:2", 0, 8)]
    assert replica_overlap.overlap_of_events(step, ["CPU:0", "CPU:1"], {"mean"}) == Overlap(0, 0)
    assert replica_overlap.overlap_of_events(step, ["CPU:0", "CPU:1"], ()) == Overlap(0.5, 0.5)


def test_a_step_in_which_no_replica_runs_has_no_overlap():
    assert replica_overlap.overlap_of_events([event("_Recv", "CPU:0", 0, 1)], ["CPU:0"], ()) == Overlap(0, 0)


def graph_on_first_device():
    """received from CPU:1 -> mean -> apply -> next -> again; own -> mean; read from the same device -> own.

    A control edge leads from what is received to `ordered`.
    """
    graph = tf.compat.v1.GraphDef()

    def add(name, op, *inputs, sender=None):
        node = graph.node.add(name=name, op=op, input=inputs, device=CPUS[0])
        if sender is not None:
            node.attr["send_device"].s = CPUS[sender].encode()

    add("received", "_Recv", sender=1)
    add("read", "_Recv", sender=0)
    add("own", "MatMul", "read")
    add("mean", "Mean", "received", "own:1")
    add("apply", "ResourceApplyAdam", "mean")
    add("next", "NextIteration", "apply")
    add("again", "MatMul", "next")
    add("ordered", "MatMul", "^received")
    return graph


def test_the_nodes_behind_other_devices_are_found_within_the_step():
    found = replica_overlap.nodes_behind_other_devices([graph_on_first_device()], "CPU:0")
    assert found == {"received", "mean", "apply"}


def test_no_node_of_another_device_is_among_them():
    assert replica_overlap.nodes_behind_other_devices([graph_on_first_device()], "CPU:1") == set()
