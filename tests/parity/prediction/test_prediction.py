"""Predictions of made-up step graphs, and of the graphs of a job that is exact by hand."""

import dataclasses

import pytest

from parity.prediction.machines.machine import DIRECT, PCIE, Efficiency, Link, Machine, Processor
from parity.prediction.prediction import predict, step_graph
from parity.prediction.step_graph import Edge, StepGraph, StepNode
from parity.prediction.step_tasks import host_all_reduce_seconds
from parity.prediction.what_if import binding_resource, gains
from parity.prediction.work import Work
from tests.cases import Dyadic, setup
from workloads.support.errors import InputError

#: One operation and one byte a second, everywhere; copies take a second more.
UNIT = Processor("unit", {"float32": 1.0}, 1.0, 2.0**30, 0.0, efficiency={"other kinds": Efficiency()})
MACHINE = Machine("unit", UNIT, 2, UNIT, Link("bus", 1.0, 1.0))


def node(name, device, seconds, *inputs, op="MatMul", group=""):
    """An op of so many seconds; inputs are of four bytes."""
    edges = tuple(Edge(f"{other}:0", other, 4.0) for other in inputs)
    return StepNode(name, op, device, work=Work(seconds), inputs=edges, group=group)


def graph(*nodes):
    return StepGraph("legacy", nodes, 2, 16)


def test_a_copy_stands_between_two_devices():
    made = graph(node("a", "CPU:0", 2.0), node("b", "GPU:0", 8.0, "a"), node("c", "GPU:0", 1.0, "a"))
    prediction = predict(made, MACHINE)
    assert prediction.seconds == 2 + 5 + 8 + 1
    assert prediction.crossing == {("CPU:0", "GPU:0"): 4.0}  # one copy for both
    host, gpu = prediction.devices
    assert host[1:] == (2.0, 5.0, 0.0, 9.0)
    assert gpu[1:] == (9.0, 5.0, 0.0, 2.0)
    assert prediction.examples_per_second == 1.0


def test_a_step_waits_for_its_call_and_for_each_further_device():
    machine = dataclasses.replace(MACHINE, call=16.0, function_call=32.0, loop=64.0, further_device=128.0)
    alone, both = [node("a", "CPU:0", 2.0)], [node("a", "CPU:0", 2.0), node("b", "CPU:1", 2.0)]
    assert [predict(graph(*nodes), machine).seconds for nodes in (alone, both)] == [2 + 16, 2 + 16 + 128]
    ports = [dataclasses.replace(graph(*nodes), side="modern", calls=0.25) for nodes in (alone, both)]
    assert [predict(port, machine).seconds for port in ports] == [2 + 8 + 64, 2 + 8 + 64 + 128]


def test_accelerators_that_are_no_peers_copy_twice():
    made = graph(node("a", "GPU:0", 2.0), node("b", "GPU:1", 8.0, "a"))
    assert predict(made, MACHINE).seconds == 2 + 5 + 5 + 8
    for topology in (PCIE, DIRECT):
        peers = dataclasses.replace(MACHINE, peer_link=Link("peers", 2.0, 1.0), topology=topology)
        assert predict(made, peers).seconds == 2 + 3 + 8


def test_an_all_reduce_waits_for_all_and_all_wait_for_it():
    made = graph(
        node("a", "GPU:0", 2.0),
        node("b", "GPU:1", 6.0),
        node("all a", "GPU:0", 0.0, "a", op="CollectiveReduceV2", group="first"),
        node("all b", "GPU:1", 0.0, "b", op="CollectiveReduceV2", group="first"),
        node("c", "GPU:0", 1.0, "all a"),
    )
    peers = dataclasses.replace(MACHINE, peer_link=Link("peers", 1.0, 0.5), topology=DIRECT)
    prediction = predict(made, peers)
    assert prediction.seconds == 6 + 2 * 0.5 + 4 + 1  # a ring of two: two messages of half the bytes
    assert prediction.devices[0][1:] == (3.0, 0.0, 5.0, 4.0)


def test_logical_devices_wait_for_the_messages_of_an_all_reduce():
    cpu = dataclasses.replace(MACHINE, device=None, host=dataclasses.replace(UNIT, bandwidth=2.0, launch=0.25))
    assert host_all_reduce_seconds(4.0, 1, cpu) == 0.0
    assert host_all_reduce_seconds(4.0, 2, cpu) == 2 * 0.25 + 12.0  # four bytes at 2 / 6 a second
    measured = dataclasses.replace(cpu, ring_link=Link("messages", 2.0, 8.0))
    assert host_all_reduce_seconds(4.0, 2, measured) == 2 * 8.0 + 12.0
    assert host_all_reduce_seconds(4.0, 4, measured) == 6 * 8.0 + 36.0


def test_what_binds_is_what_gains_most():
    slow = gains(graph(node("a", "GPU:0", 64.0)), MACHINE)
    assert (slow[0].change, slow[0].gain, binding_resource(slow)) == (
        "twice the compute", 2.0, "arithmetic of the devices",
    )  # fmt: skip
    far = gains(graph(node("a", "CPU:0", 0.0, op="Const"), node("b", "GPU:0", 1.0, "a")), MACHINE)
    assert binding_resource(far) == "bandwidth of the links"


def test_the_towers_graph_has_its_devices_and_work():
    made = step_graph(setup(Dyadic(), 2), "legacy", MACHINE)
    devices = {edge.device for edge in made.nodes}
    assert devices == {"CPU:0", "GPU:0", "GPU:1"}
    products = [one for one in made.nodes if one.op == "Mul" and one.device == "GPU:1"]
    assert sum(one.work.flops for one in products) >= 8  # x * a * b of four examples
    assert not any(one.op == "Const" for one in made.nodes)
    assert made.parameters == 8.0


def test_pinned_towers_leave_the_accelerators_alone():
    made = step_graph(setup(Dyadic(), 2, legacy={"pin_towers_to_cpu": True}), "legacy", MACHINE)
    assert {one.device for one in made.nodes} == {"CPU:0"}


def test_the_ports_graph_meets_in_collectives():
    made = step_graph(setup(Dyadic(), 2, modern={"all_reduce": "auto", "variables": "auto"}), "modern", MACHINE)
    groups = [one.group for one in made.nodes if one.group]
    assert len(groups) == 2 * len(set(groups)) >= 2
    assert {one.device for one in made.nodes} == {"GPU:0", "GPU:1"}
    assert [crossing.size for crossing in made.crossings()] == [4.0]  # the second replica's loss, for the result


def test_more_replicas_than_devices_are_refused():
    with pytest.raises(InputError, match="--replicas: got 4, unit has 2 devices"):
        step_graph(setup(Dyadic(), 4), "legacy", MACHINE)
