"""`Pace`: how fast this machine is at the moment, by small graphs that always do the same."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import NamedTuple, TypeVar

import tensorflow as tf

from legacy.towers.program import session_config
from parity.prediction.this_machine.op_timing import median_seconds

v1 = tf.compat.v1

#: The graphs: chains of small ops side by side, which cost their dispatch; and products on all cores.
CHAINS, LENGTH, PRODUCTS, ROWS = 4, 40, 4, 192

#: Runs of a graph around a measurement, and for the standard.
RUNS, STANDARD_RUNS = 15, 100

Measured = TypeVar("Measured")


class Pace:
    """Runs a fixed graph, as a `Runner` of `parity.speed.timing`.

    A machine that others share changes its speed within seconds. What is measured at one time is compared with what is
    measured at another by the seconds that this graph takes at both.

    Args:
      add_ops: adds the graph's ops to the current graph; returns the last ones.

    Attributes:
      standard: seconds of the graph when this was made.
    """

    def __init__(self, add_ops: Callable[[], Sequence[tf.Operation]]) -> None:
        with tf.Graph().as_default() as graph, tf.device("/cpu:0"):
            self._step = tf.group(*add_ops())
            initialize = v1.global_variables_initializer()
        self._session = v1.Session(graph=graph, config=session_config(["CPU:0"], exact=True))
        self._session.run(initialize)
        self.standard = self._seconds(STANDARD_RUNS)

    def __enter__(self) -> Pace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()

    def run(self, steps: int) -> None:
        """Runs the graph a number of times."""
        for _ in range(steps):
            self._session.run(self._step)

    def watch(self, measure: Callable[[], Measured]) -> tuple[Measured, float]:
        """Measures something, and how slow the machine is meanwhile.

        Args:
          measure: takes at most some seconds.

        Returns:
          what it returned, and the seconds of the graph before and after it, over the standard: 2 on a machine that is
          half as fast as when this was made.
        """
        before = self._seconds(RUNS)
        measured = measure()
        return measured, (before * self._seconds(RUNS)) ** 0.5 / self.standard

    def _seconds(self, runs: int) -> float:
        return median_seconds(functools.partial(self.run, 1), runs)


class Paces(NamedTuple):
    """The speeds at which a CPU dispatches and computes, which drift with its clock and load.

    Attributes:
      dispatch: of ops and calls.
      compute: of kernels.
    """

    dispatch: Pace
    compute: Pace


@contextlib.contextmanager
def paces_of_this_machine() -> Iterator[Paces]:
    """Context of the paces; they convert times to the machine's speed at the beginning of the context."""
    with Pace(_chains) as dispatch, Pace(_products) as compute:
        yield Paces(dispatch, compute)


def _chains() -> list[tf.Operation]:
    ends = []
    for _ in range(CHAINS):
        end = _value([8])
        for _ in range(LENGTH):
            end = tf.sqrt(end)
        ends.append(end.op)
    return ends


def _products() -> list[tf.Operation]:
    return [tf.matmul(_value([ROWS, ROWS]), _value([ROWS, ROWS])).op for _ in range(PRODUCTS)]


def _value(shape: list[int]) -> tf.Tensor:
    """Reads a variable, as Grappler would compute constants before the first step."""
    with v1.variable_scope(v1.get_variable_scope(), reuse=v1.AUTO_REUSE):
        return v1.get_variable("value", shape, initializer=v1.ones_initializer(), use_resource=True).read_value()
