"""Evidence of some steps and some variables alone, so that what holds for those can be fitted without the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING

from workloads.program import Arrays, State, StepRecord

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep


def restrict_evidence(
    evidence: Evidence, steps: Collection[int] | None = None, names: Collection[str] | None = None
) -> Evidence:
    """Returns the evidence of some steps and variables.

    What belongs to no variable stays: losses, learning rates, batches, masks. So do the reductions that were fitted to
    all variables together, since clipping by the global norm shows in all of them only.

    Args:
      evidence: of all.
      steps: numbers of the steps to keep; None for all.
      names: names of the weights or statistics to keep; None for all. Names of weights alone keep all statistics, and
        the other way round.

    Returns:
      evidence whose facts are measured from what was kept.
    """
    kept = [step for step in evidence.steps if steps is None or step.left.step in steps]
    if names is None:
        keeps_last = bool(kept) and kept[-1] is evidence.steps[-1]  # the one step that can be taken again
        retake = evidence.retake_last_step if keeps_last else None
        restricted = dataclasses.replace(evidence, steps=kept, retake_last_step=retake)
    else:
        restricted = _of_variables(evidence, kept, _Names(evidence, names))
        restricted.__dict__["combined_fits"] = evidence.combined_fits
    restricted.__dict__["learning_rates"] = evidence.learning_rates
    return restricted


class _Names:
    """The weights and the statistics that are kept."""

    def __init__(self, evidence: Evidence, names: Collection[str]) -> None:
        self.weights = set(names) & set(evidence.left.weights) or set(evidence.left.weights)
        statistics = {name for step in evidence.steps for name in step.left.state.statistics}
        self.statistics = set(names) & statistics or statistics

    def of_state(self, state: State) -> State:
        """Returns the part of a state that is kept."""
        slots = {
            name: value
            for name, value in state.slots.items()
            if "/" not in name or name.rsplit("/", 1)[0] in self.weights
        }
        return State(
            state.step,
            _only(state.weights, self.weights),
            slots,
            _only(state.statistics, self.statistics),
            _only(state.averages, self.weights),
        )

    def of_record(self, record: StepRecord) -> StepRecord:
        """Returns the part of a step record that is kept."""
        return dataclasses.replace(
            record,
            gradients=[_only(gradients, self.weights) for gradients in record.gradients],
            combined=_only(record.combined, self.weights),
            state=self.of_state(record.state),
            drift=[name for name in record.drift if name in self.weights | self.statistics],
            proposals=[_only(proposals, self.statistics) for proposals in record.proposals],
        )


def _of_variables(evidence: Evidence, steps: list[ComparedStep], names: _Names) -> Evidence:
    def kept(weights: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if weights is None else tuple(name for name in weights if name in names.weights)

    context = evidence.context
    context = dataclasses.replace(context, decayed=kept(context.decayed), penalized=kept(context.penalized))
    return dataclasses.replace(
        evidence,
        context=context,
        left=names.of_state(evidence.left),
        right=names.of_state(evidence.right),
        steps=[_restrict_step(step, names) for step in steps],
        retake_last_step=None,
    )


def _restrict_step(step: ComparedStep, names: _Names) -> ComparedStep:
    restricted = dataclasses.replace(
        step,
        left=names.of_record(step.left),
        right=names.of_record(step.right),
        left_before=names.of_state(step.left_before),
        right_before=names.of_state(step.right_before),
    )
    restricted.__dict__["same_state"] = step.same_state  # of all weights: gradients depend on the others too
    return restricted


def _only(arrays: Arrays, names: Collection[str]) -> Arrays:
    return {name: value for name, value in arrays.items() if name in names}
