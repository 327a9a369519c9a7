"""Times of single ops on the CPU of this machine, each run by itself on made-up values."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from legacy.towers.program import session_config
from parity.profiling.op_copies import FloorUnknown, copy_of, stand_in

v1 = tf.compat.v1

#: Runs of which the median counts, as with the steps that are predicted; after one that warms up.
RUNS = 5

#: Seconds that the copies of one op in a run take, about, and how many there are at most.
RUN_SECONDS, MOST_COPIES = 4e-3, 64

#: Seconds of an op at least, where the clock sees no difference to a call without it.
LEAST = 1e-9


def seconds_of_op(op: tf.Operation, width: int = 1) -> float:
    """Returns the seconds that an op takes by itself, dispatch included, in chains of several copies.

    Args:
      op: the op.
      width: number of chains side by side; the seconds are those of all, divided by the ops of all.

    Returns:
      the seconds.

    Raises:
      FloorUnknown: the op cannot be run by itself.
    """
    first = seconds_of_chain(lambda before: _one_copy(op, before), 2, runs=2)
    copies = max(2, min(MOST_COPIES, int(RUN_SECONDS / max(first, 1e-9))))
    return seconds_of_chain(lambda before: _one_copy(op, before), copies, width=width)


def seconds_of_chain(
    add_op: Callable[[list[tf.Operation]], tf.Operation],
    count: int,
    runs: int = RUNS,
    width: int = 1,
    devices: Sequence[str] = ("CPU:0",),
) -> float:
    """Returns the seconds of one op in a chain of `count`, each of which waits for the one before.

    Args:
      add_op: adds the op to the current graph, after the given ones.
      count: length of the chain.
      runs: number of runs, of which the median counts.
      width: number of chains side by side; the seconds are those of all, divided by the ops of all.
      devices: of the ops of a chain, in turn.

    Returns:
      the seconds; the call of the session is not among them.

    Raises:
      FloorUnknown: the op cannot be run by itself.
    """
    with tf.Graph().as_default() as graph:
        ends: list[tf.Operation] = []
        for _ in range(width):
            chain: list[tf.Operation] = []
            for number in range(count):
                with tf.device(devices[number % len(devices)]):
                    chain = [add_op(chain)]
            ends += chain
        step, nothing, initialize = tf.group(*ends), tf.no_op(), v1.global_variables_initializer()
        with v1.Session(graph=graph, config=session_config(list(devices), exact=True)) as session:
            try:
                session.run(initialize)
                whole, call = (median_seconds(functools.partial(session.run, op), runs) for op in (step, nothing))
            except tf.errors.OpError as error:
                raise FloorUnknown(str(error).splitlines()[0])
    return max((whole - call) / (count * width), LEAST)


def median_seconds(run: Callable[[], Any], runs: int) -> float:
    """Returns the median seconds of some runs, after one that warms up."""
    run()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def interleaved_seconds(runs: Sequence[Callable[[], Any]], calls: int, rounds: int) -> list[float]:
    """Returns the median seconds of a call of each function, measured in turns: a machine that drifts slows them alike.

    Args:
      runs: the functions.
      calls: number of calls of each in a round, after one that warms up.
      rounds: number of rounds, of whose medians the median counts.

    Returns:
      seconds, a number for each function.
    """
    medians = [[median_seconds(run, calls) for run in runs] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*medians)]


def _one_copy(op: tf.Operation, before: list[tf.Operation]) -> tf.Operation:
    """Adds a copy of an op after others; the variables that it updates are made for it."""
    with v1.variable_scope(v1.get_variable_scope(), reuse=tf.compat.v1.AUTO_REUSE):
        values: dict[Any, tf.Tensor] = {}
        shape = max((tensor.shape for tensor in op.inputs if tensor.dtype.is_floating), key=_elements, default=None)
        inputs = [
            _variable(shape, number).handle if tensor.dtype == tf.resource else stand_in(tensor, values, "")
            for number, tensor in enumerate(op.inputs)
        ]
    with tf.control_dependencies(before):
        try:
            return copy_of(op, inputs)
        except (ValueError, TypeError) as error:  # such as a reference to a variable of TensorFlow 1.x
            raise FloorUnknown(f"{op.name}: {error}")


def _elements(shape: tf.TensorShape) -> int:
    return shape.num_elements() or 0


def _variable(shape: tf.TensorShape | None, number: int) -> tf.Variable:
    """A variable of an update op: its weight, or a slot."""
    if shape is None:
        raise FloorUnknown("an update without a gradient")
    return v1.get_variable(f"updated{number}", shape, tf.float32, v1.ones_initializer(), use_resource=True)
