"""Calibration: which ops are measured, what their times say, and errors and orders of predictions."""

import dataclasses

import pytest
import tensorflow as tf

from parity.prediction.machines.machine import Efficiency, Link, Machine, Processor
from parity.prediction.step_graph import StepNode
from parity.prediction.this_machine import calibration, call_timing, op_timing
from parity.prediction.this_machine.calibration import sampled_ops
from parity.prediction.this_machine.measured_step import MeasuredStep, small_setup
from parity.prediction.this_machine.pace import paces_of_this_machine
from parity.prediction.this_machine.validation import (
    ValidatedJob,
    alternatives_of,
    median_error,
    predicted_order,
    validation_json,
)
from parity.prediction.work import Work
from parity.profiling.op_copies import FloorUnknown
from parity.reports.prediction_tables import error_lines
from parity.reports.validation_tables import validation_parts
from tests.cases import Dyadic, setup

UNIT = Processor("unit", {"float32": 1.0}, 1.0, 2.0**30, 0.125, lanes=2)


def node(name, op, flops):
    return StepNode(name, op, "CPU:0", work=Work(flops))


def test_ops_are_sampled_from_most_to_least_work_once_for_each_amount():
    nodes = [node(f"product{i}", "MatMul", 2.0**i) for i in range(9)]
    nodes += [node("again", "MatMul", 32.0), node("small", "Relu", 2.0**-20), node("free", "Reshape", 64.0)]
    assert [one.name for one in sampled_ops(nodes, UNIT)] == [
        "product8",
        "product6",
        "product4",
        "product2",
        "product0",
    ]
    assert [one.name for one in sampled_ops(nodes[:2], UNIT)] == ["product1", "product0"]


def test_a_slower_machine_takes_longer_for_everything_but_the_bytes_of_a_handed_over_tensor():
    host = dataclasses.replace(UNIT, efficiency={"Relu": Efficiency(0.5, 0.5, setup=1.0)})
    ring = Link("messages", 4.0, 0.5)
    machine = Machine("cpu", None, 2, host, Link("memory", 8.0, 0.25), ring_link=ring, call=1.0)
    slower = calibration.slowed_down(machine, dispatch=2.0, compute=4.0)
    assert (slower.host.flops["float32"], slower.host.bandwidth, slower.host.launch) == (0.25, 0.25, 0.25)
    assert slower.host.efficiency["Relu"] == Efficiency(0.5, 0.5, setup=4.0)
    assert (slower.host_link.latency, slower.ring_link.latency, slower.call) == (0.5, 1.0, 2.0)


def test_an_op_is_run_by_itself_with_its_variables():
    with tf.Graph().as_default() as graph:
        variable = tf.compat.v1.get_variable("w", (4,), use_resource=True)
        gradient = tf.compat.v1.placeholder(tf.float32, (4,))
        update = tf.raw_ops.ResourceApplyGradientDescent(var=variable.handle, alpha=0.5, delta=gradient)
        unknown = tf.sqrt(tf.compat.v1.placeholder(tf.float32, (None,))).op
    assert op_timing.seconds_of_op(graph.get_operation_by_name(update.name)) >= op_timing.LEAST
    with pytest.raises(FloorUnknown, match="is not known before the graph runs"):
        op_timing.seconds_of_op(unknown)


def test_this_cpu_has_a_peak_and_costs(monkeypatch):
    monkeypatch.setattr(calibration, "PRODUCT", 64)
    monkeypatch.setattr(calibration, "SUM", 1024)
    monkeypatch.setattr(calibration, "CHAIN", 4)
    with paces_of_this_machine() as paces:
        cpu = calibration.plain_cpu(paces)
    assert cpu.flops["float32"] > 0 and cpu.bandwidth > 0 and cpu.lanes >= 1
    calls = call_timing.seconds_of_calls(["CPU:0"])
    assert all(seconds >= 0 for seconds in calls) and calls.call > 0 and calls.further_device == 0


def test_what_further_devices_cost_is_theirs_alone(monkeypatch):
    names = ["call", "fed", "one", "captured", "turns", "one_wide", "turns_wide"]
    seconds = dict(zip(names, (8.0, 16.0, 32.0, 51.0, 32.0 + 99 * 2, 64.0, 64.0 + 99 * 8)))
    monkeypatch.setattr(call_timing, "interleaved_seconds", lambda *unused: [seconds[name] for name in names])
    found = call_timing.seconds_of_calls(["CPU:0"] * 4)
    assert found == (8.0, 30.0, 1.0, 2.0, 2.0, 2.0)  # a turn takes 2 s, and 8 s on three further devices


def steps(*pairs):
    """Rows of (predicted, measured)."""
    names = ("legacy", "modern", "modern, one device")
    return [MeasuredStep(name, name[:6], 2, *pair) for name, pair in zip(names, pairs)]


def test_errors_and_orders_by_hand():
    jobs = [ValidatedJob("a", 2, steps((5.0, 4.0), (3.0, 4.0), (1.0, 8.0)))]
    assert median_error(jobs) == 0.25
    assert median_error(jobs, ("modern, one device",)) == 0.875
    assert predicted_order(jobs) == (0, 2)  # the first two are equally fast
    assert predicted_order([ValidatedJob("a", 2, steps((5.0, 4.0), (3.0, 2.0)))]) == (1, 1)
    content = validation_json(jobs)
    assert content["order"] == {"right": 0, "pairs": 2} and content["jobs"][0]["steps"][0]["error"] == 0.25
    _, first, _, last = validation_parts(jobs)
    assert first.endswith("25%") and last.endswith("right in 0 of 2 (0%)")


def test_the_error_stands_beside_a_prediction_or_is_said_to_be_missing():
    (line,) = error_lines([MeasuredStep("legacy", "legacy", 2, 0.005, 0.004)])
    assert "legacy, 2 replicas: +25% (predicted 5.00 ms, measured 4.00 ms a step)" in line
    assert list(error_lines(None)) == ["error of the prediction: not measured (--nocalibrate)"]


def test_what_is_measured_here_is_small():
    assert small_setup(setup("resnet18", 4)).job.global_batch == 32
    assert small_setup(setup(Dyadic(), 4)).job.workload == Dyadic()


def test_alternatives_of_one_replica_have_no_placements_and_no_reductions():
    assert set(alternatives_of("regression", 1, "small")) == {
        "legacy", "legacy, fed", "modern", "modern, one step a call",
    }  # fmt: skip
    several = alternatives_of("regression", 4, "small")
    assert len(several) == 10
    assert {way.setup.job.per_replica_batch for way in several.values()} == {32}
