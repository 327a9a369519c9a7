"""Learning-rate schedules as functions of a step's number, and the boundaries at which they jump."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from workloads.schedules import Schedule

#: Steps at which schedules are evaluated: each of the first ones, then further and further apart, up to `LAST`.
DENSE, RATIO, LAST = 64, 1.05, 10_000_000

#: Number of boundaries that are kept besides those at whole numbers of the schedule: a staircase has no end of them.
MOST_BOUNDARIES = 3

#: A jump of a learning rate by no more than so many float32 roundings is none.
ROUNDINGS = 8

#: The largest number of a step: random numbers are keyed by the step as an int32.
LARGEST = 2**31 - 2


class RateFunction:
    """The learning rate of a schedule as a function of the step.

    Args:
      schedule: a `Schedule`, or a function like one.
      global_batch: examples of all replicas together in one step.
    """

    def __init__(self, schedule: Schedule, global_batch: int) -> None:
        # `map_fn` would have AutoGraph convert the schedule, which is written for graphs already.
        self._rate_of: Callable[[tf.Tensor], tf.Tensor] = tf.autograph.experimental.do_not_convert(
            lambda step: schedule(step, global_batch)
        )
        self._graph = tf.Graph()
        with self._graph.as_default():
            self._step = tf.compat.v1.placeholder(tf.int64, [])
            self._rate = self._rate_of(self._step)
        self._session = tf.compat.v1.Session(graph=self._graph)
        self._known: dict[int, np.ndarray] = {}

    def __call__(self, step: int) -> np.ndarray:
        """Returns the learning rate of a step, a float32 scalar."""
        step = max(step, 0)
        if step not in self._known:
            self._known[step] = np.asarray(self._session.run(self._rate, {self._step: step}))
        return self._known[step]

    def look_up(self, steps: Sequence[int]) -> None:
        """Computes the learning rates of many steps, from 0 on, at once: by the same kernels, in a loop."""
        missing = [step for step in steps if step not in self._known]
        if not missing:
            return
        with self._graph.as_default():
            rates = tf.map_fn(self._rate_of, tf.constant(missing, tf.int64), fn_output_signature=self._rate.dtype)
        self._known.update(zip(missing, self._session.run(rates)))

    def first_difference(self, other: RateFunction, steps: Sequence[int]) -> int | None:
        """Returns the first of `steps` at which another schedule has another learning rate, or None."""
        if steps and self(steps[0]) == other(steps[0]):  # most others differ from the first step on
            self.look_up(steps)
            other.look_up(steps)
        return next((step for step in steps if self(step) != other(step)), None)


def sampled_steps(extra: Iterable[int] = ()) -> list[int]:
    """Returns the numbers of the steps at which schedules are compared, in order: the grid and `extra` steps."""
    grid = list(range(DENSE))
    while grid[-1] < LAST:
        grid.append(int(grid[-1] * RATIO) + 1)
    return sorted({step for step in itertools.chain(grid, extra) if 0 <= step <= LARGEST})


def whole_numbers(record: Any) -> set[int]:
    """Returns all whole numbers in a dataclass instance, those in tuples and inner records included."""
    if isinstance(record, bool):
        return set()
    if isinstance(record, int):
        return {record}
    if isinstance(record, (tuple, list)):
        return set().union(*map(whole_numbers, record)) if record else set()
    if dataclasses.is_dataclass(record) and not isinstance(record, type):
        return set().union(*(whole_numbers(getattr(record, field.name)) for field in dataclasses.fields(record)))
    return set()


def find_boundaries(rate: RateFunction, schedule: Any) -> list[int]:
    """Returns the first steps after a jump of a schedule, in order; see `MOST_BOUNDARIES`.

    A schedule that changes at every step has only those near its whole numbers.

    Args:
      rate: the schedule's learning rate.
      schedule: the schedule, whose whole numbers are steps at which it may change.
    """
    named = {step + shift for step in whole_numbers(schedule) for shift in (-2, -1, 0, 1, 2)}
    steps = sampled_steps(sorted(named))
    rate.look_up(steps)
    found: list[int] = []
    others = 0
    for first, last in itertools.pairwise(steps):
        jump = _jump_between(rate, first, last)
        if jump is not None and _is_flat_beside(rate, jump) and not _is_rounding(rate, jump):
            others += jump not in named
            if jump in named or others <= MOST_BOUNDARIES:
                found.append(jump)
    return found


def _is_rounding(rate: RateFunction, jump: int) -> bool:
    """Whether a jump is rounding alone: late in a smooth schedule many steps have one rate, then the next number."""
    before, after = float(rate(jump - 1)), float(rate(jump))
    return abs(after - before) <= ROUNDINGS * float(np.finfo(np.float32).eps) * max(abs(before), abs(after))


def _is_flat_beside(rate: RateFunction, jump: int) -> bool:
    """Whether the rate is constant before a jump, or after it: a schedule that always changes has no jumps."""
    return (jump >= 2 and bool(rate(jump - 2) == rate(jump - 1))) or bool(rate(jump) == rate(jump + 1))


def _jump_between(rate: RateFunction, first: int, last: int) -> int | None:
    """Returns the first step with another rate than step `first`, by bisection; None if step `last` has the same."""
    if rate(first) == rate(last):
        return None
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if rate(middle) == rate(first) else (first, middle)
    return last
