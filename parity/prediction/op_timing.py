"""Times of single ops on the CPU of this machine, each run by itself on made-up values."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from legacy.towers.program import session_config
from modern.mirrored import step_loop
from parity.profiling.op_copies import FloorUnknown, copy_of, stand_in

v1 = tf.compat.v1

#: Runs of which the shortest counts, as other work on the machine disturbs it least; after one that warms up.
RUNS = 5

#: Seconds that the copies of one op in a run take, about, and how many there are at most.
RUN_SECONDS, MOST_COPIES = 4e-3, 64

#: Seconds of an op at least, where the clock sees no difference to a call without it.
LEAST = 1e-9

#: Calls of which the shortest counts, tensors that one of them is fed, and turns of a long loop.
CALLS, FED, TURNS = 50, 4, 100


def seconds_of_op(op: tf.Operation) -> float:
    """Returns the seconds that an op takes by itself, dispatch included, in a chain of several copies.

    Raises:
      FloorUnknown: the op cannot be run by itself.
    """
    first = seconds_of_chain(lambda before: _one_copy(op, before), 2, runs=2)
    copies = max(2, min(MOST_COPIES, int(RUN_SECONDS / max(first, 1e-9))))
    return seconds_of_chain(lambda before: _one_copy(op, before), copies)


def seconds_of_chain(
    add_op: Callable[[list[tf.Operation]], tf.Operation], count: int, runs: int = RUNS, width: int = 1
) -> float:
    """Returns the seconds of one op in a chain of `count`, each of which waits for the one before.

    Args:
      add_op: adds the op to the current graph, after the given ones.
      count: length of the chain.
      runs: number of runs, of which the shortest counts.
      width: number of chains side by side; the seconds are those of all, divided by the ops of all.

    Returns:
      the seconds; the call of the session is not among them.

    Raises:
      FloorUnknown: the op cannot be run by itself.
    """
    with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
        ends: list[tf.Operation] = []
        for _ in range(width):
            chain: list[tf.Operation] = []
            for _ in range(count):
                chain = [add_op(chain)]
            ends += chain
        step, nothing, initialize = tf.group(*ends), tf.no_op(), v1.global_variables_initializer()
        with v1.Session(graph=graph, config=session_config(["CPU:0"], exact=True)) as session:
            try:
                session.run(initialize)
                whole, call = (_least_seconds(functools.partial(session.run, op), runs) for op in (step, nothing))
            except tf.errors.OpError as error:
                raise FloorUnknown(str(error).splitlines()[0])
    return max((whole - call) / (count * width), LEAST)


class CallSeconds(NamedTuple):
    """Seconds of the host around a step; see `Machine`."""

    call: float
    function_call: float
    loop: float
    feed: float


def seconds_of_calls() -> CallSeconds:
    """Measures a `session.run` that computes nothing, one that is fed, and a function that loops over one step."""
    empty = step_loop.trace_step_loop(lambda: [], 1, "float32")
    one, many = (
        _least_seconds(functools.partial(step_loop.run_steps, empty, turns, turns), CALLS) for turns in (1, TURNS)
    )
    loop = max(many - one, 0.0) / (TURNS - 1)
    with tf.Graph().as_default() as graph:
        holders = [v1.placeholder(tf.float32, (8,)) for _ in range(FED)]
        nothing, used = tf.no_op(), tf.group(*(tf.identity(holder) for holder in holders))
        feed = {holder: np.zeros(8, np.float32) for holder in holders}
        with v1.Session(graph=graph, config=session_config(["CPU:0"], exact=True)) as session:
            call = _least_seconds(lambda: session.run(nothing), CALLS)
            fed = _least_seconds(lambda: session.run(used, feed), CALLS)
    return CallSeconds(call, max(one - loop, 0.0), loop, max(fed - call, 0.0) / FED)


def _least_seconds(run: Callable[[], Any], runs: int) -> float:
    run()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


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
