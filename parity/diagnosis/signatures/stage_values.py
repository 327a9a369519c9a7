"""Stage values: the right side's value of each variable in a stage, beside the value that it should have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.comparison import stages
from parity.diagnosis.candidates.combined_forms import combine_gradients
from parity.diagnosis.candidates.statistics_owners import FIRST
from parity.diagnosis.stage_checks.observed_updates import observe_updates
from workloads.program import Arrays

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep
    from workloads.optimizers import ObservedUpdate, Optimizer


class StageRow(NamedTuple):
    """One stage of one step, of one replica where the stage has one value a replica.

    Attributes:
      step: number of the step.
      actual: {variable: the right side's value}.
      expected: {variable: the value that it should have}, shaped alike.
      noise: {variable: length of the rounding in `actual` beyond a few roundings of its own numbers}; 0 where none.
    """

    step: int
    actual: Arrays
    expected: Arrays
    noise: Mapping[str, float] = {}


#: Rows of each stage; only those that can be told.
StageRows = dict[str, list[StageRow]]


def stage_rows(evidence: Evidence) -> StageRows:
    """Returns the rows of the initial weights, gradients, combined gradients, slots, statistics and averages.

    Gradients and proposals are compared with the left side's, in steps from the same state; the other stages with
    what the left side's rule makes of the right side's own inputs. The row of a slot, or of the weights where the
    optimizer has no slots, holds what the optimizer took up: the gradient, or its square.
    """
    same = [step for step in evidence.steps if step.same_state]
    return {
        stages.INITIAL: [StageRow(evidence.left.step, evidence.right.weights, evidence.left.weights)],
        stages.GRADIENTS: [row for step in same for row in _gradients(step)],
        stages.COMBINED: [row for step in evidence.steps for row in _combined(step, evidence)],
        stages.SLOTS: list(_taken_up(evidence)),
        stages.STATISTICS: [row for step in evidence.steps for row in _statistics(step, evidence)],
        stages.AVERAGES: [row for step in evidence.steps for row in _averages(step, evidence)],
    }


def _gradients(step: ComparedStep) -> Iterator[StageRow]:
    if len(step.left.gradients) == len(step.right.gradients):
        for left, right in zip(step.left.gradients, step.right.gradients):
            yield StageRow(step.left.step, right, left)


def _combined(step: ComparedStep, evidence: Evidence) -> Iterator[StageRow]:
    form = evidence.combined_fits[0].first if evidence.combined_fits[0] is not None else None
    gradients, combined = step.right.gradients, step.right.combined
    names = [name for name in combined if all(_alike(gradient, combined, name) for gradient in gradients)]
    if form is not None and gradients and names:
        common = [{name: gradient[name] for name in names} for gradient in gradients]
        yield StageRow(step.right.step, combined, combine_gradients(common, form))


def _taken_up(evidence: Evidence) -> Iterator[StageRow]:
    optimizer = evidence.context.optimizer
    if optimizer is not None:
        for update in observe_updates([(step.right, step.right_before) for step in evidence.steps], optimizer):
            yield _taken_up_in(update, optimizer, evidence.eps)


def _taken_up_in(update: ObservedUpdate, optimizer: Optimizer, eps: float) -> StageRow:
    """Returns the term that the first slot (without slots, the weights) took up, beside the expected one."""
    slot, rule = next(iter(optimizer.slot_rules().items()), ("", None))
    if rule is None:
        rate = update.learning_rate or float("nan")
        actual, expected, large = -update.change / rate, update.gradient, update.weights / rate
    else:
        actual = (update.new[slot] - rule.keep * update.old[slot]) / rule.gain
        expected, large = rule.term(update), update.old[slot] / rule.gain
    shaped = list(zip(update.parts(), update.shapes))
    return StageRow(
        update.step,
        {name: actual[part].reshape(shape) for (name, part), shape in shaped},
        {name: expected[part].reshape(shape) for (name, part), shape in shaped},
        {name: float(8 * eps * np.linalg.norm(large[part])) for (name, part), _ in shaped},
    )


def _statistics(step: ComparedStep, evidence: Evidence) -> Iterator[StageRow]:
    """Yields what is kept beside what the left side's owner proposes on the right."""
    facts = evidence.statistics
    owner = next(iter(facts.owners[0]), FIRST) if facts is not None else FIRST
    if facts is None or facts.borrowed or not step.right.proposals:
        return
    proposals, before = step.right.proposals, step.right_before.statistics
    names = [name for name in step.right.state.statistics if name in proposals[0] and name in before]
    expected = {
        name: owner.expected_values(np.asarray(before[name], np.float64), [np.asarray(p[name]) for p in proposals])
        for name in names
    }
    yield StageRow(step.right.step, step.right.state.statistics, expected)


def _averages(step: ComparedStep, evidence: Evidence) -> Iterator[StageRow]:
    """The weight that each average took in beside the weight itself."""
    rule = evidence.context.moving_average
    if rule is None:
        return
    share = rule.share(step.right.step + 1)
    before, after = step.right_before.averages, step.right.state
    names = [name for name in after.averages if name in before and name in after.weights]
    olds = {name: np.asarray(before[name], np.float64) for name in names}
    if names and share:
        noise = {name: 8 * evidence.eps * float(np.linalg.norm(old)) / share for name, old in olds.items()}
        actual = {name: olds[name] + (after.averages[name] - olds[name]) / share for name in names}
        yield StageRow(step.right.step, actual, after.weights, noise)


def _alike(gradient: Arrays, combined: Arrays, name: str) -> bool:
    return name in gradient and np.shape(gradient[name]) == np.shape(combined[name])
