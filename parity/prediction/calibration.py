"""Calibration of the CPU of this machine: what its kernels reach, measured op by op; no step is measured for it."""

from __future__ import annotations

import collections
import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import tensorflow as tf

from parity.prediction.machines.machine import OTHER_KINDS, Efficiency, Link, Machine, Processor
from parity.prediction.machines.selection import THIS_CPU
from parity.prediction.op_timing import seconds_of_calls, seconds_of_chain, seconds_of_op
from parity.prediction.step_graph import StepNode
from parity.prediction.work import GRAIN, seconds_of
from parity.profiling.op_copies import FloorUnknown
from parity.profiling.op_kinds import PRODUCTS, kind_of_op

v1 = tf.compat.v1

#: Rows of the square product whose rate is the peak; elements of the sum whose traffic is the bandwidth.
PRODUCT, SUM = 1024, 2**23

#: Ops of one type that are measured at most, and the share of the step's ideal time below which a type is not.
MOST_OF_A_TYPE, LEAST_SHARE = 2, 0.005

#: Length and number of the chains that measure the dispatch of an op: several ops are ready at a time, as in a step.
CHAIN, WIDTH = 60, 8


def calibrated_cpu(graph: tf.Graph, nodes: Sequence[StepNode], count: int) -> Machine:
    """Measures the CPU of this machine with the ops of a step, each run by itself.

    Args:
      graph: the graph of the towers.
      nodes: the ops of a step of it.
      count: number of logical devices, which all are this CPU.

    Returns:
      the machine.
    """
    plain = plain_cpu()
    efficiency = efficiencies(_measured(graph, heaviest(nodes, plain), plain))
    host = dataclasses.replace(plain, efficiency=efficiency)
    return Machine(
        THIS_CPU,
        None,
        count,
        host,
        Link("memory", host.bandwidth, host.launch),
        **seconds_of_calls()._asdict(),
        sources=("measured on this machine, each op by itself",),
    )


def plain_cpu() -> Processor:
    """Measures this CPU's peak, bandwidth and dispatch; its kernels are taken to reach all of them."""
    peak = 2 * PRODUCT**3 / seconds_of_chain(lambda before: _apply(tf.matmul, [PRODUCT, PRODUCT], before), 4)
    bandwidth = 2 * 4 * SUM / seconds_of_chain(lambda before: _apply(tf.add, [SUM], before), 4)
    lanes = len(os.sched_getaffinity(0))
    launch, hand_on = (
        lanes * seconds_of_chain(functools.partial(_apply, run, [8]), CHAIN, width=WIDTH) for run in (tf.add, _first_of)
    )
    memory = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return Processor("this CPU", {"float32": peak, "float64": peak / 2}, bandwidth, memory, launch, hand_on, lanes)


def _first_of(value: tf.Tensor, _: tf.Tensor) -> tf.Tensor:
    return tf.identity(value)


def _apply(
    function: Callable[[tf.Tensor, tf.Tensor], tf.Tensor], shape: list[int], before: list[tf.Operation]
) -> tf.Operation:
    """Adds a function of a variable's value with itself to the current graph, after other ops."""
    with v1.variable_scope(v1.get_variable_scope(), reuse=v1.AUTO_REUSE):
        value = v1.get_variable("value", shape, initializer=v1.ones_initializer(), use_resource=True).read_value()
    with tf.control_dependencies(before):
        return function(value, value).op


def heaviest(nodes: Iterable[StepNode], plain: Processor) -> list[StepNode]:
    """Returns the ops to measure: of each type that matters, those with the most work, one of each amount.

    Args:
      nodes: the ops of a step.
      plain: the CPU whose kernels reach the peak.

    Returns:
      the ops.
    """
    of_type: dict[str, dict[tuple[float, float], StepNode]] = collections.defaultdict(dict)
    for node in nodes:
        if ideal_seconds(node, plain) > 0:
            of_type[node.op].setdefault(node.work, node)
    whole = sum(ideal_seconds(node, plain) for node in nodes)
    found: list[StepNode] = []
    for candidates in of_type.values():
        ordered = sorted(candidates.values(), key=lambda node: -ideal_seconds(node, plain))
        if sum(ideal_seconds(node, plain) for node in ordered) >= LEAST_SHARE * whole:
            found += ordered[:MOST_OF_A_TYPE]
    return found


def ideal_seconds(node: StepNode, plain: Processor) -> float:
    """Returns the seconds of an op on all lanes at the peak, without its dispatch."""
    instant = dataclasses.replace(plain, launch=0.0, hand_on=0.0, lanes=1)
    return seconds_of(node.op, node.work, node.dtype, instant)[0]


class MeasuredOp(NamedTuple):
    """An op that was run by itself.

    Attributes:
      op: its type.
      ideal: seconds at the peak, on the lanes that it used.
      seconds: measured, without its dispatch.
    """

    op: str
    ideal: float
    seconds: float


def _measured(graph: tf.Graph, nodes: Iterable[StepNode], plain: Processor) -> Iterator[MeasuredOp]:
    """Measures ops; those that cannot be run by themselves are left out."""
    for node in nodes:
        try:
            seconds = seconds_of_op(graph.get_operation_by_name(node.name))
        except FloorUnknown:
            continue
        net = max(seconds - plain.launch, plain.launch / 4)
        lanes = 1 if net < 2 * GRAIN else plain.lanes
        yield MeasuredOp(node.op, ideal_seconds(node, plain) * plain.lanes / lanes, net)


def efficiencies(measured: Iterable[MeasuredOp]) -> dict[str, Efficiency]:
    """Returns {type of op, kind of op, or `OTHER_KINDS`: share of the peak that was measured}.

    A type without a measurement gets its kind's share, and a kind without one that of all ops but products.
    """
    sums: dict[str, list[float]] = collections.defaultdict(lambda: [0.0, 0.0])
    for one in measured:
        kind = kind_of_op(one.op)
        for name in {one.op, kind, *([] if kind == PRODUCTS else [OTHER_KINDS])}:
            sums[name][0] += one.ideal
            sums[name][1] += one.seconds
    return {name: Efficiency(ideal / seconds, ideal / seconds) for name, (ideal, seconds) in sums.items()}
