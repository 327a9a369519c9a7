"""Times of calls on the CPU of this machine: of a session, and of a function that loops over steps."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from legacy.towers.program import session_config
from modern.mirrored import step_loop
from parity.prediction.this_machine.op_timing import interleaved_seconds

v1 = tf.compat.v1

#: Calls in a round and rounds, of whose medians the median counts.
CALLS, ROUNDS = 11, 5

#: Tensors that a call is fed, variables of one device that a function captures, and turns of a long loop.
FED, CAPTURED, TURNS = 4, 20, 100


class CallSeconds(NamedTuple):
    """Seconds of the host around a step; see `Machine`."""

    call: float
    function_call: float
    capture: float
    loop: float
    further_device: float
    feed: float


def seconds_of_calls(devices: Sequence[str]) -> CallSeconds:
    """Measures calls of a session and of a function that loops over steps; a step adds to a variable on each device.

    Args:
      devices: such as ["CPU:0", "CPU:1"]. All but `further_device` is of the first alone.

    Returns:
      the seconds; those of the additions are among those of a call and of a turn.
    """
    first = devices[:1]
    few, many, wide = (_loop_of_additions(on, count) for on, count in ((first, 1), (first, CAPTURED), (devices, 1)))
    with _session_calls(devices[0]) as (run, run_fed):
        call, fed, one, captured, turns, one_wide, turns_wide = interleaved_seconds(
            [
                run,
                run_fed,
                functools.partial(step_loop.run_steps, few, 1, 1),
                functools.partial(step_loop.run_steps, many, 1, 1),
                functools.partial(step_loop.run_steps, few, TURNS, TURNS),
                functools.partial(step_loop.run_steps, wide, 1, 1),
                functools.partial(step_loop.run_steps, wide, TURNS, TURNS),
            ],
            CALLS,
            ROUNDS,
        )
    loop, wide_loop = (
        max(of_turns - of_one, 0.0) / (TURNS - 1) for of_turns, of_one in ((turns, one), (turns_wide, one_wide))
    )
    further = max(wide_loop - loop, 0.0) / (len(devices) - 1) if len(devices) > 1 else 0.0
    capture = max(captured - one, 0.0) / (CAPTURED - 1)
    return CallSeconds(call, max(one - loop, 0.0), capture, loop, further, max(fed - call, 0.0) / FED)


def _loop_of_additions(devices: Sequence[str], count: int) -> Callable[[tf.Tensor], Sequence[tf.Tensor]]:
    """A loop over steps that add to the first of `count` variables on each device and read the others."""
    variables = []
    for device in devices:
        with tf.device(device):
            variables.append([tf.Variable(0.0) for _ in range(count)])

    def take_step() -> list[tf.Tensor]:
        sums = []
        for device, of_device in zip(devices, variables):
            with tf.device(device):
                of_device[0].assign_add(1.0)
                sums.append(tf.add_n([variable.read_value() for variable in of_device]))
        return sums

    return step_loop.trace_step_loop(take_step, len(devices), "float32")


@contextlib.contextmanager
def _session_calls(device: str) -> Iterator[tuple[Callable[[], Any], Callable[[], Any]]]:
    """Two calls of a session: one that adds to a variable on the device, and one that is fed `FED` tensors as well."""
    with tf.Graph().as_default() as graph:
        holders = [v1.placeholder(tf.float32, (8,)) for _ in range(FED)]
        with tf.device(device):
            step = v1.assign_add(v1.get_variable("added", [], initializer=v1.zeros_initializer()), 1.0).op
        fed_step = tf.group(step, *(tf.negative(holder) for holder in holders))
        initialize = v1.global_variables_initializer()
    feed = {holder: np.zeros(8, np.float32) for holder in holders}
    # As a context, a session would make its graph the default one, in which no function can be called.
    with contextlib.closing(v1.Session(graph=graph, config=session_config([device], exact=True))) as session:
        session.run(initialize)
        yield functools.partial(session.run, step), functools.partial(session.run, fed_step, feed)
