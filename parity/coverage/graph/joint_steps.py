"""`JointSteps`: steps that try independent changes of constants together, as those of many statistics' decays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import tensorflow as tf

from parity.comparison import stages
from parity.coverage.graph.independent_changes import disjoint_groups
from parity.coverage.mutant import Effect
from parity.coverage.observed_step import ObservedStep
from workloads.program import StepRecord
from workloads.support.errors import InputError

#: {tensor name: changed value}.
Values: TypeAlias = Mapping[str, np.ndarray]

#: Takes the step that is tried with changed values.
TakeStep: TypeAlias = Callable[[Values], StepRecord]


class OwnChange(NamedTuple):
    """A change of constants that reach variables which are compared, and no other compared tensor.

    Attributes:
      key: number of the change.
      values, opposite: {tensor name: changed value}, and those of a change in the other direction.
      reached: all nodes that depend on the constants.
      variables: those that are compared.
      kind: changes of one kind alone are tried together.
    """

    key: int
    values: Values
    opposite: Values
    reached: frozenset[str]
    variables: frozenset[str]
    kind: object = None


class JointSteps:
    """Steps with several changes, of which each one shows by its own variables alone.

    The values of these are those of a step with that change alone, since no other change reaches them. A change whose
    variables are not all found among the compared tensors is left to a step of its own, as are the changes of a group
    with which no step runs.
    """

    def __init__(self) -> None:
        self._group_of: dict[int, int] = {}
        self._groups: list[list[OwnChange]] = []
        self._changes: dict[int, OwnChange] = {}
        self._step: ObservedStep | None = None
        self._taken: dict[tuple[int, bool], dict[str, Effect] | None] = {}

    def set_changes(self, changes: Sequence[OwnChange]) -> None:
        """Divides changes into groups that are tried together."""
        self._groups = []
        for kind in dict.fromkeys(change.kind for change in changes):
            own = [change for change in changes if change.kind == kind]
            groups = disjoint_groups([change.reached for change in own])
            self._groups += [[own[number] for number in numbers] for numbers in groups if len(numbers) > 1]
        self._group_of = {change.key: number for number, group in enumerate(self._groups) for change in group}
        self._changes = {change.key: change for group in self._groups for change in group}
        self.forget()

    def forget(self) -> None:
        """Drops the steps that were taken, as before steps with other bounds."""
        self._step, self._taken = None, {}

    def effects(self, key: int, step: ObservedStep, right: StepRecord, take: TakeStep) -> Iterator[Effect] | None:
        """Returns the effects of a change in a step; in a visit, also those of the opposite change.

        Args:
          key: of the change.
          step: the step.
          right: it without a change.
          take: takes it with changes.

        Returns:
          The variables that the change reaches; None if it is to be tried in a step of its own.
        """
        if key not in self._group_of:
            return None
        if self._step is not step:
            self._step, self._taken = step, {}
        change, number = self._changes[key], self._group_of[key]
        directions = [False, True] if step.visit is not None and change.opposite else [False]
        taken = [self._effects_together(number, is_opposite, right, take) for is_opposite in directions]
        if any(found is None or not change.variables <= found.keys() for found in taken):
            return None
        return (found[name] for found in taken if found is not None for name in sorted(change.variables))

    def _effects_together(
        self, number: int, is_opposite: bool, right: StepRecord, take: TakeStep
    ) -> dict[str, Effect] | None:
        """{variable: effect} of a step with all changes of a group; None if no step runs with them."""
        if (number, is_opposite) not in self._taken:
            values: dict[str, np.ndarray] = {}
            for change in self._groups[number]:
                values.update(change.opposite if is_opposite else change.values)
            try:
                self._taken[number, is_opposite] = _effects_on_variables(right, take(values))
            except (InputError, tf.errors.OpError, ValueError):
                self._taken[number, is_opposite] = None
        return self._taken[number, is_opposite]


def _effects_on_variables(right: StepRecord, wrong: StepRecord) -> dict[str, Effect]:
    """Returns {variable: effect} of the variables that two steps leave, but for names that two stages have."""
    found: dict[str, Effect] = {}
    several = set[str]()
    for (stage, name, a), (_, _, b) in zip(stages.tensors(right), stages.tensors(wrong)):
        if stage in stages.OF_STATE:
            if name in found:
                several.add(name)
            found[name] = Effect(stage, name, a, b)
    return {name: effect for name, effect in found.items() if name not in several}
