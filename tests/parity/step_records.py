"""Made-up step records and evidence of a few numbers, for tests of facts and of the criteria that read them.

A test says only what matters to it; everything else has a default that is the same on both sides. With

    steps = [compared_step(step_record(gradients=[{"w": [1.0]}]), step_record(gradients=[{"w": [2.0]}]))]
    evidence = made_up_evidence(steps, context=Context(replicas=1))

the facts are computed from the records. A criterion can also be tested on facts that are given:

    evidence = made_up_evidence(gradient_factors=None, learning_rates=learning_rates([0.5, 0.25], [0.5, 0.5]))
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from parity.diagnosis.context.job_context import Context
from parity.diagnosis.evidence import Evidence
from parity.diagnosis.facts.learning_rates import LearningRates
from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.program import Arrays, Program, State, StepRecord
from workloads.variable_spec import VariableSpec

#: {name: numbers, or an array}.
Numbers = Mapping[str, Any]

WEIGHTS = {"w": [1.0, 2.0]}


def arrays(numbers: Numbers | None, dtype: str = "float32") -> Arrays:
    """Returns {name: array}; arrays keep their dtype."""
    return {
        name: value if isinstance(value, np.ndarray) else np.asarray(value, dtype)
        for name, value in (numbers or {}).items()
    }


def made_up_state(
    weights: Numbers | None = None,
    slots: Numbers | None = None,
    statistics: Numbers | None = None,
    averages: Numbers | None = None,
    step: int = 0,
) -> State:
    """Returns a `State` with weights `WEIGHTS` unless given, and nothing else unless given."""
    return State(
        step, arrays(WEIGHTS if weights is None else weights), arrays(slots), arrays(statistics), arrays(averages)
    )


def step_record(
    step: int = 0,
    losses: Sequence[float] = (),
    gradients: Sequence[Numbers] = (),
    combined: Numbers | None = None,
    learning_rate: float | Sequence[float] | None = 0.5,
    state: State | None = None,
    digests: Sequence[str] = (),
    drift: Sequence[str] = (),
    examples: Sequence[Sequence[int]] = (),
    masks: Sequence[Mapping[str, Sequence[bool]]] = (),
    proposals: Sequence[Numbers] = (),
) -> StepRecord:
    """Returns a `StepRecord`; lists are over replicas. `state`, after the step, is `made_up_state()` unless given."""
    return StepRecord(
        step=step,
        digests=list(digests),
        losses=[np.float32(loss) for loss in losses],
        gradients=[arrays(gradient) for gradient in gradients],
        combined=arrays(combined),
        learning_rate=None if learning_rate is None else np.float32(learning_rate),
        state=made_up_state(step=step + 1) if state is None else state,
        drift=list(drift),
        examples=[np.asarray(ids, np.int64) for ids in examples],
        masks=[arrays(kept, "bool") for kept in masks],
        proposals=[arrays(proposal) for proposal in proposals],
    )


def compared_step(
    left: StepRecord,
    right: StepRecord | None = None,
    left_before: State | None = None,
    right_before: State | None = None,
    locked: bool = False,
) -> ComparedStep:
    """Returns both sides' step; the right's record and state before are the left's unless given."""
    before = made_up_state(step=left.step) if left_before is None else left_before
    return ComparedStep(
        left, left if right is None else right, before, before if right_before is None else right_before, locked
    )


def made_up_evidence(steps: Sequence[ComparedStep] = (), context: Context | None = None, **facts: object) -> Evidence:
    """Returns `Evidence` of `steps`; without steps, of one on which both sides agree.

    Args:
      steps: the states before the first are the states that the programs start from.
      context: of the job; unless given, two replicas and a global batch of 8, and nothing else is known.
      facts: values of `Evidence`'s computed attributes (gradient_factors=..., updates=...), used instead of
        computing them from the steps.

    Raises:
      TypeError: a fact is not computed by `Evidence`.
    """
    steps = list(steps) or [compared_step(step_record())]
    context = Context(replicas=2, global_batch=8) if context is None else context
    evidence = Evidence(context, steps[0].left_before, steps[0].right_before, steps)
    for name, value in facts.items():
        if not isinstance(getattr(Evidence, name, None), functools.cached_property):
            raise TypeError(f"{name} is no fact of Evidence")
        evidence.__dict__[name] = value  # where `cached_property` keeps what it computed
    return evidence


def learning_rates(left: Sequence[float], right: Sequence[float], first: int = 0) -> LearningRates:
    """Returns the `LearningRates` of consecutive steps from step `first`."""
    return LearningRates(list(range(first, first + len(left))), np.array(left), np.array(right))


class MadeUpProgram(Program):
    """A `Program` that shows given records; a state that is loaded is remembered in `loaded`.

    Args:
      records: one a step.
      initial: state before the first step.
    """

    side = "made up"

    def __init__(self, records: Sequence[StepRecord], initial: State | None = None) -> None:
        self._records = list(records)
        self._state = made_up_state() if initial is None else initial
        self._about = {"records": str(len(self._records))}
        self.loaded: list[State] = []

    def variables(self) -> tuple[VariableSpec, ...]:
        return tuple(
            VariableSpec(name, value.shape, str(value.dtype), True, None) for name, value in self._state.weights.items()
        )

    def describe(self) -> dict[str, str]:
        return dict(self._about)

    def load(self, state: State) -> None:
        self.loaded.append(state)
        self._state = state

    def state(self) -> State:
        return self._state

    def step(self) -> StepRecord:
        record = self._records.pop(0)
        self._state = record.state
        return record
