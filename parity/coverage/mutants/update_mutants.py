"""Mutants of the update: the optimizer's constants changed, and each variable's update left out."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from parity.comparison import stages
from parity.coverage import formulas
from parity.coverage.changed_constants import changed_constants
from parity.coverage.mutant import Choice, Effect, Effects, Exposure, Mutant
from parity.coverage.observed_step import ObservedStep
from workloads import optimizers
from workloads.job import Job

#: A function from a weight to the reason why it never moves, or "".
Reason = Callable[[str], str]

#: Number of states of random weights after which a weight without a gradient is taken to have none anywhere.
ENOUGH_RANDOM = 2

#: Reason why an optimizer's constant was not seen, with advice.
HINT = "too small to show beside the gradients of the compared steps; a state with slots near zero would show it"


def optimizer_mutants(job: Job) -> Iterator[Mutant]:
    """Yields the mutants of the optimizer's constants."""
    optimizer = job.workload.optimizer
    for field, change, changed in changed_constants(optimizer):
        compared: set[int] = set()
        makes_starts = changed.slots() != optimizer.slots()
        yield Mutant(
            Choice.OPTIMIZER,
            f"optimizer.{field}",
            change,
            _changed_optimizer(optimizer, changed, compared),
            lambda: HINT,
            functools.partial(_why_past, compared) if makes_starts else lambda: "",
            exposure=Exposure.SMALL_SLOTS,
        )


def _why_past(compared: Collection[int]) -> str:
    """Returns the reason why a constant that makes the slots' first values cannot matter to a run from later ones."""
    is_past = bool(compared) and 0 not in compared
    return "it makes the first values of slots, and the compared steps start from a checkpoint's" if is_past else ""


def _changed_optimizer(optimizer: optimizers.Optimizer, changed: optimizers.Optimizer, compared: set[int]) -> Effects:
    """Returns the effects of an optimizer's change, which add the numbers of the job's own steps to `compared`."""

    def effects(step: ObservedStep) -> Iterator[Effect]:
        if step.visit is None:
            compared.add(step.record.step)
        rate = np.ravel(step.record.learning_rate)
        if not step.updates or not step.updates[0] or rate.size != 1:
            return
        right = step.updated
        wrong = formulas.updated_state(changed, step.before, step.updates, float(rate[0]), step.dtype)
        for name, value in right.weights.items():
            yield Effect(stages.WEIGHTS, name, value, wrong.weights[name])
        for name, value in right.slots.items():
            yield Effect(stages.SLOTS, name, value, wrong.slots[name])
        for name, start in {**optimizer.slots(), **optimizer.accumulators()}.items():
            other = {**changed.slots(), **changed.accumulators()}.get(name, start)
            if step.record.step == 0 and step.visit is None:
                yield Effect(stages.INITIAL, name, np.float32(start), np.float32(other))

    return effects


def left_out_mutants(names: list[str], reason: Reason) -> Iterator[Mutant]:
    """Yields one mutant for each weight: its update left out.

    Args:
      names: of the weights.
      reason: function from a weight to the reason why it never moves, or "".
    """
    for name in names:
        yield Mutant(
            Choice.UPDATE,
            f"update of {name}",
            "left out",
            _left_out(name),
            lambda: (
                "the weight moves in no compared step: its gradient or its learning rate is zero, or too small "
                "beside it"
            ),
            functools.partial(reason, name),
            exposure=Exposure.RANDOM_WEIGHTS,
            still=name,
        )


def left_out_changes(variables: Mapping[str, str]) -> Iterator[Mutant]:
    """Yields one mutant for each statistic, counter and moving average: its change left out.

    A change every thousand steps, as of a target network, is in no step that a short comparison takes.

    Args:
      variables: {variable: kind of state that it is in the records, "statistics" or "averages"}.
    """
    for name, kind in variables.items():
        yield Mutant(
            Choice.MOVING_AVERAGE if kind == "averages" else Choice.STATISTICS,
            f"change of {name}",
            "left out",
            _left_out(name, kind, stages.AVERAGES if kind == "averages" else stages.STATISTICS),
            lambda: "the variable changes in no compared step",
            every_step=True,
        )


def _left_out(name: str, kind: str = "weights", stage: str = stages.WEIGHTS) -> Effects:
    def effects(step: ObservedStep) -> Iterator[Effect]:
        yield Effect(stage, name, getattr(step.record.state, kind)[name], getattr(step.before, kind)[name])

    return effects


class GradientLog:
    """The weights that had a gradient, and in how many states of random weights each one was asked for its gradient."""

    def __init__(self) -> None:
        self._with_gradient: set[str] = set()
        self._random: collections.Counter[str] = collections.Counter()

    def add(self, step: ObservedStep) -> None:
        """Adds a compared step; of several train ops, one that trains other weights says nothing of a weight.

        A port whose whole step is code records no combined gradients, but each replica's.
        """
        gradients = [update for update in step.updates if update] or step.record.gradients
        if step.visit is not None and step.visit.has_random_weights:
            self._random.update({name for update in gradients for name in update})
        for update in gradients:
            self._with_gradient |= {name for name, gradient in update.items() if np.any(gradient)}

    @property
    def any(self) -> bool:
        """Whether any weight had a gradient."""
        return bool(self._with_gradient)

    def why_still(self, name: str) -> str:
        """Returns the reason why a weight cannot move, or "" if it might."""
        if name in self._with_gradient or self._random[name] < ENOUGH_RANDOM:
            return ""
        return f"its gradient is zero in every compared step, {self._random[name]} of them at random weights"
