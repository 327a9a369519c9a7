"""`InjectedPort`: the clean port with injected changes, which takes the user's steps from the user's own states."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from modern.options import ModernOptions
from parity.causes.basics.injection import Change
from parity.confirmation.given_inputs import GivenInputs
from workloads.program import STATES, State, StepRecord

if TYPE_CHECKING:
    from parity.comparison.setup import Setup

#: Most of the user's steps that are taken: the first ones, and the `LAST` last ones.
MOST_STEPS, LAST = 13, 3


class UserStep(NamedTuple):
    """One step of the run to explain: the state before it, and its record."""

    before: State
    record: StepRecord


def clean_setup(setup: Setup) -> Setup:
    """Returns the setup of the same job with the port that has legacy's mathematics, in this process."""
    options = ModernOptions(average=setup.modern.average, exact=True)
    return dataclasses.replace(setup, modern=options, workers=1, parameter_servers=0, layer_devices=0)


def can_be_injected(setup: Setup) -> bool:
    """Returns whether causes can be injected into the setup's port.

    A lifted graph has its mathematics in its ops, and asynchronous updates come in another order each time. Where the
    left side is an old graph, a port built from the workload's fields is the very port that is to be explained.
    """
    return not setup.has_old_graph and setup.job.staleness is None


def chosen_steps(steps: Sequence[UserStep], in_a_row: bool = False) -> list[UserStep]:
    """Returns the first and the last of the user's steps, `MOST_STEPS` at most; only the first ones if `in_a_row`."""
    if in_a_row or len(steps) <= MOST_STEPS:
        return list(steps[:MOST_STEPS])
    return [*steps[: MOST_STEPS - LAST], *steps[-LAST:]]


class InjectedPort:
    """The clean port with changes.

    Args:
      setup: of the user's job.
      changes: injected changes; a later one wraps the ones before it.
      start: first state of the clean run, to which changes of first states apply.
      dtype: of the port; None for the job's.

    Attributes:
      setup: the setup that the port was built from, changes included.
      first_state: the port's first state, changes included.
    """

    def __init__(self, setup: Setup, changes: Sequence[Change], start: State, dtype: str | None = None) -> None:
        clean = clean_setup(setup)
        if dtype is not None:
            clean = dataclasses.replace(clean, job=dataclasses.replace(clean.job, dtype=dtype))
            start = start.cast(dtype)
        self._dtype = dtype
        self._inputs = GivenInputs()
        change = self._inputs.change()
        for injected in reversed(changes):
            change = change + injected
        self.setup = change.changed_setup(clean)
        self._program = change(clean, start)
        self.first_state = self._program.state()

    def take_steps(self, steps: Iterable[UserStep], given: bool) -> list[StepRecord]:
        """Takes each step from the user's state before it.

        Args:
          steps: the user's.
          given: whether each stage reads the user's inputs to it; see `GivenInputs`.

        Returns:
          the port's records, one a step.
        """
        records = []
        for step in steps:
            self._program.load(self._complete(step.before))
            self._inputs.set(step.record if given else None)
            records.append(self._program.step())
        return records

    def close(self) -> None:
        """Frees the program."""
        self._program.close()

    def __enter__(self) -> InjectedPort:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def _complete(self, state: State) -> State:
        """The user's state, with the port's first values of variables that the user's lacks."""
        state = state if self._dtype is None else state.cast(self._dtype)
        full = copy.copy(state)
        for kind in STATES:
            mine, theirs = getattr(self.first_state, kind), getattr(state, kind)
            setattr(full, kind, {name: theirs.get(name, value) for name, value in mine.items()})
        return full
