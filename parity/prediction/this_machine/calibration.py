"""Calibration of the CPU of this machine: the speed of its kernels, measured op by op and not from whole steps."""

from __future__ import annotations

import collections
import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

import tensorflow as tf

from parity.prediction.machines.machine import Link, Machine, Processor
from parity.prediction.machines.selection import THIS_CPU
from parity.prediction.step_graph import StepNode
from parity.prediction.this_machine.call_timing import CallSeconds, seconds_of_calls
from parity.prediction.this_machine.efficiency_fit import MeasuredOp, efficiencies
from parity.prediction.this_machine.message_timing import message_seconds
from parity.prediction.this_machine.op_timing import seconds_of_chain, seconds_of_op
from parity.prediction.this_machine.pace import Pace, Paces
from parity.prediction.work import seconds_of
from parity.profiling.op_copies import FloorUnknown
from workloads.support.machine import threads

v1 = tf.compat.v1

#: Rows of the square product whose rate is the peak; elements of the sum whose traffic is the bandwidth.
PRODUCT, SUM = 1024, 2**23

#: Ops of one type that are measured at most, and the share of the step's ideal time below which a type is not.
MOST_OF_A_TYPE, LEAST_SHARE = 5, 0.005

#: Ops whose kernel is another one where the op of the forward pass is in the graph (oneDNN's keep a workspace).
WITH_FORWARD = ("MaxPoolGrad", "AvgPoolGrad", "LRNGrad")

#: Length of the chains that measure the dispatch of an op, and of one that waits for an op on another device.
CHAIN, HOPS = 2000, 300

#: Logical devices at most by which the calls of a step on several are measured.
MOST_DEVICES = 4

#: Runs of such a chain, of which the median counts.
CHAIN_RUNS = 15


def calibrated_cpu(graph: tf.Graph, nodes: Sequence[StepNode], count: int, paces: Paces) -> Machine:
    """Measures the CPU of this machine with the ops of a step, each run by itself.

    Args:
      graph: the graph of the towers.
      nodes: the ops of a step of it.
      count: number of logical devices, which all are this CPU.
      paces: all times are those at their standards.

    Returns:
      the machine.
    """
    plain = plain_cpu(paces)
    measured = _measured(graph, sampled_ops(nodes, plain), plain, paces.compute)
    efficiency = efficiencies(measured, plain.lanes, plain.launch)
    devices = [f"CPU:{number}" for number in range(min(count, MOST_DEVICES))]
    calls, slow = paces.dispatch.watch(lambda: seconds_of_calls(devices))
    message, slow_message = paces.dispatch.watch(message_seconds) if count > 1 else (0.0, 1.0)
    host = dataclasses.replace(plain, efficiency=efficiency)
    return Machine(
        THIS_CPU,
        None,
        count,
        host,
        Link("memory", host.bandwidth, crossing_seconds(paces, host.launch, count)),
        ring_link=Link("messages of an all-reduce", host.bandwidth, message / slow_message),
        **{name: seconds / slow for name, seconds in calls._asdict().items()},
        sources=("measured on this machine, each op by itself",),
    )


def slowed_down(machine: Machine, dispatch: float, compute: float) -> Machine:
    """Returns a machine at another pace.

    Args:
      machine: this CPU.
      dispatch: factor of the seconds of dispatching ops and of calls.
      compute: factor of the seconds of kernels.

    Returns:
      the machine.
    """
    host = machine.host
    slower = dataclasses.replace(
        host,
        flops={dtype: rate / compute for dtype, rate in host.flops.items()},
        bandwidth=host.bandwidth / compute,
        launch=host.launch * dispatch,
        hand_on=host.hand_on * dispatch,
        efficiency={
            op: dataclasses.replace(share, setup=share.setup * compute) for op, share in host.efficiency.items()
        },
    )
    calls = {name: getattr(machine, name) * dispatch for name in CallSeconds._fields}
    links = {name: getattr(machine, name) for name in ("host_link", "ring_link")}
    later = {name: dataclasses.replace(link, latency=link.latency * dispatch) for name, link in links.items() if link}
    return dataclasses.replace(machine, host=slower, **later, **calls)


def plain_cpu(paces: Paces) -> Processor:
    """Measures this CPU's peak, bandwidth and dispatch at the paces' standards; its kernels are taken to reach them."""
    peak = 2 * PRODUCT**3 / _chain_seconds(paces.compute, tf.matmul, (PRODUCT, PRODUCT), 4)
    bandwidth = 2 * 4 * SUM / _chain_seconds(paces.compute, tf.add, (SUM,), 4)
    launch, hand_on = (_chain_seconds(paces.dispatch, run, (8,), CHAIN) for run in (tf.add, _first_of))
    memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    lanes = threads.cores()
    return Processor("this CPU", {"float32": peak, "float64": peak / 2}, bandwidth, memory, launch, hand_on, lanes)


def crossing_seconds(paces: Paces, launch: float, count: int) -> float:
    """Measures how much longer an op takes if it waits for one on another logical device, which wakes its thread.

    Args:
      paces: of which the seconds are at the standard.
      launch: seconds of an op on the same device.
      count: number of logical devices.

    Returns:
      the seconds; 0 for one device.
    """
    devices = [f"CPU:{number}" for number in range(min(count, 2))]
    return max(_chain_seconds(paces.dispatch, tf.add, (8,), HOPS, devices) - launch, 0.0) if count > 1 else 0.0


def _chain_seconds(
    pace: Pace,
    function: Callable[..., tf.Tensor],
    shape: Sequence[int],
    length: int,
    devices: Sequence[str] = ("CPU:0",),
) -> float:
    """Seconds of a function in a chain of calls of it, at the standard of a pace."""
    add_op = functools.partial(_apply, function, shape)
    measured, slow = pace.watch(functools.partial(seconds_of_chain, add_op, length, CHAIN_RUNS, devices=devices))
    return measured / slow


def _first_of(value: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
    return tf.identity(value)


def _apply(
    function: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], shape: Sequence[int], before: list[tf.Operation]
) -> tf.Operation:
    """Adds a function of a value with itself to the current graph, after other ops; the graph has one such value."""
    values = v1.get_collection_ref("value")
    if not values:
        with tf.control_dependencies(None), tf.device("CPU:0"):
            variable = v1.get_variable("value", shape, initializer=v1.ones_initializer(), use_resource=True)
            values.append(variable.read_value())
    with tf.control_dependencies(before):
        return function(values[0], values[0]).op


def sampled_ops(nodes: Iterable[StepNode], plain: Processor) -> list[StepNode]:
    """Returns the ops to measure: of each type that matters some, from the one with most work to that with least.

    Args:
      nodes: the ops of a step.
      plain: the CPU whose kernels reach the peak.

    Returns:
      the ops.
    """
    of_type: dict[str, dict[tuple[float, float], StepNode]] = collections.defaultdict(dict)
    for node in nodes:
        if ideal_seconds(node, plain) > 0 and node.op not in WITH_FORWARD:
            of_type[node.op].setdefault(node.work, node)
    whole = sum(ideal_seconds(node, plain) for node in nodes)
    found: list[StepNode] = []
    for candidates in of_type.values():
        ordered = sorted(candidates.values(), key=lambda node: -ideal_seconds(node, plain))
        if sum(ideal_seconds(node, plain) for node in ordered) >= LEAST_SHARE * whole:
            count, last = min(len(ordered), MOST_OF_A_TYPE), len(ordered) - 1
            found += [ordered[round(number * last / max(count - 1, 1))] for number in range(count)]
    return found


def ideal_seconds(node: StepNode, plain: Processor) -> float:
    """Returns the seconds of an op on all lanes at the peak, without its dispatch."""
    instant = dataclasses.replace(plain, launch=0.0, hand_on=0.0, lanes=1)
    return seconds_of(node.op, node.work, node.dtype, instant)[0]


def _measured(graph: tf.Graph, nodes: Iterable[StepNode], plain: Processor, pace: Pace) -> Iterator[MeasuredOp]:
    """Measures ops; those that cannot be run by themselves are left out."""
    for node in nodes:
        op = graph.get_operation_by_name(node.name)
        found = []
        try:
            for width in (1, plain.lanes):
                seconds, slow = pace.watch(functools.partial(seconds_of_op, op, width))
                dispatch = plain.launch / width
                found.append(max(seconds / slow - dispatch, dispatch / 4))
        except FloorUnknown:
            continue
        yield MeasuredOp(node.op, ideal_seconds(node, plain), *found)
