"""`ConfinedPort`: an injected port in which some causes act on some variables, or in some steps, only.

Each stage is judged from the user's inputs to it, so a step of a cause that is confined to a variable is the step
without the cause with that variable's tensors taken from the step with it.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from parity.confirmation.injected_port import InjectedPort, UserStep
from workloads.program import STATES, Arrays, StepRecord

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from workloads.program import State


class Confined(NamedTuple):
    """A port with one more cause than the base, and the variables and steps that it acts on; empty for all."""

    port: InjectedPort
    variables: tuple[str, ...]
    steps: tuple[int, ...]


class ConfinedPort:
    """An injected port, and ports with one confined cause more, as one.

    Args:
      base: with all causes that are not confined.
      confined: one port a confined cause.
    """

    def __init__(self, base: InjectedPort, confined: Sequence[Confined]) -> None:
        self._base, self._confined = base, confined

    @property
    def setup(self) -> Setup:
        """The base's setup."""
        return self._base.setup

    @property
    def first_state(self) -> State:
        """The base's first state."""
        return self._base.first_state

    def take_steps(self, steps: Sequence[UserStep], given: bool) -> list[StepRecord]:
        """Takes each step from the user's state before it; see `InjectedPort.take_steps`.

        Args:
          steps: the user's.
          given: whether each stage reads the user's inputs to it.

        Returns:
          the records, one a step.
        """
        records = self._base.take_steps(steps, given)
        for port, variables, numbers in self._confined:
            injected = port.take_steps(steps, given)
            records = [
                overlay(record, other, variables) if not numbers or record.step in numbers else record
                for record, other in zip(records, injected)
            ]
        return records


def overlay(base: StepRecord, injected: StepRecord, variables: Collection[str]) -> StepRecord:
    """Returns a step in which a cause acts on some variables.

    Args:
      base: the step without the cause.
      injected: the step with the cause in all variables.
      variables: that it acts on; empty for all.

    Returns:
      the record; losses, of which no variable is the only owner, are those with the cause.
    """
    if not variables:
        return injected
    state = copy.copy(base.state)
    for kind in STATES:
        setattr(state, kind, _chosen(getattr(base.state, kind), getattr(injected.state, kind), variables))
    return dataclasses.replace(
        base,
        losses=injected.losses,
        gradients=_chosen_each(base.gradients, injected.gradients, variables),
        combined=_chosen(base.combined, injected.combined, variables),
        proposals=_chosen_each(base.proposals, injected.proposals, variables),
        state=state,
    )


def _chosen_each(base: Sequence[Arrays], injected: Sequence[Arrays], variables: Collection[str]) -> list[Arrays]:
    return [_chosen(one, other, variables) for one, other in zip(base, injected)]


def _chosen(base: Arrays, injected: Arrays, variables: Iterable[str]) -> Arrays:
    """The injected arrays of the variables and of their slots, and the base's of all others."""
    owners = set(variables)
    return {
        name: injected[name] if name in injected and (name in owners or name.rsplit("/", 1)[0] in owners) else value
        for name, value in base.items()
    }
