"""`Rewrite`: the port's states and records as legacy would record them, where it computes the same in other terms."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from parity.diagnosis.candidates.combined_forms import CombinedForm, combine_gradients
from parity.diagnosis.evidence import Evidence
from parity.diagnosis.facts.derived_gradients import derive_combined_gradients
from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.optimizers import Optimizer
from workloads.program import Arrays, State, StepRecord

#: Where gradients and decay nearly cancel, the sums of a float64 run have digits beyond it.
EXTENDED = np.longdouble

#: Roundings of a gradient, and of what a slot shows of it.
MOST_ROUNDINGS = 32.0


class Rewrite(NamedTuple):
    """Functions that rewrite a state, and a record but for its state, given the state before the step."""

    state: Callable[[State], State]
    record: Callable[[StepRecord, State], StepRecord]


def rewritten_evidence(evidence: Evidence, rewrite: Rewrite) -> Evidence:
    """Returns the evidence with the right side's states and records rewritten."""
    return dataclasses.replace(
        evidence,
        right=rewrite.state(evidence.right),
        steps=[_rewritten_step(step, rewrite) for step in evidence.steps],
        retake_last_step=None,
        retake_with_taps=None,
    )


def _rewritten_step(step: ComparedStep, rewrite: Rewrite) -> ComparedStep:
    record = rewrite.record(step.right, step.right_before)
    right = dataclasses.replace(record, state=rewrite.state(step.right.state))
    return dataclasses.replace(step, right=right, right_before=rewrite.state(step.right_before))


def with_momentum(factor: float) -> Rewrite:
    """Divides momentum slots by a factor, in float64: a rounding would look like another slot."""

    def rewrite(state: State) -> State:
        slots = {
            name: np.asarray(value, np.float64) / factor + 0.0 if name.endswith("/momentum") else value  # and no -0.0
            for name, value in state.slots.items()
        }
        return dataclasses.replace(state, slots=slots)

    return Rewrite(rewrite, lambda record, before: record)


def without_factors(of_gradients: float, of_losses: float) -> Rewrite:
    """Divides the replicas' gradients and losses by factors."""

    def rewrite(record: StepRecord, before: State) -> StepRecord:
        return dataclasses.replace(
            record,
            losses=[loss / np.asarray(of_losses, np.asarray(loss).dtype) for loss in record.losses],
            gradients=[_divided(gradients, of_gradients) for gradients in record.gradients],
            tap_gradients=[_divided(gradients, of_gradients) for gradients in record.tap_gradients],
        )

    return Rewrite(lambda state: state, rewrite)


def _divided(arrays: Arrays, factor: float) -> Arrays:
    return {name: np.asarray(value) / np.asarray(factor, np.asarray(value).dtype) for name, value in arrays.items()}


class Penalty(NamedTuple):
    """An L2 penalty that the port's optimizer applies.

    Attributes:
      rates: {weight: multiple of the weight that its gradient gets}.
      in_losses: whether the losses lack it, too.
      optimizer: that reads the combined gradients; None if it is not known.
    """

    rates: Mapping[str, float]
    in_losses: bool
    optimizer: Optimizer | None = None


def with_penalty(penalty: Penalty) -> Rewrite:
    """Adds a penalty to gradients, combined gradients and losses.

    Where gradient and decay nearly cancel, their sum is off by many of its own roundings. So within the roundings of
    its addends the combined gradient is the one that slots or weights show, and the replicas' are those that make it.
    """

    def rewrite(record: StepRecord, before: State) -> StepRecord:
        rates = {name: rate for name, rate in penalty.rates.items() if name in before.weights}
        decays = {name: rate * np.asarray(before.weights[name], np.float64) for name, rate in rates.items()}
        squares = sum(rate * float(np.sum(np.square(decays[n] / rate))) for n, rate in rates.items())
        combined = _combined_with(record, before, decays, penalty.optimizer)
        return dataclasses.replace(
            record,
            losses=[_as_type_of(loss, np.asarray(loss, np.float64) + squares / 2) for loss in record.losses]
            if penalty.in_losses
            else record.losses,
            gradients=_gradients_with(record, decays, combined),
            combined={n: _as_type_of(value, combined.get(n, value)) for n, value in record.combined.items()},
        )

    return Rewrite(lambda state: state, rewrite)


def with_clipping(form: CombinedForm, optimizer: Optimizer | None) -> Rewrite:
    """Makes the combined gradients of the replicas' own, in a form that clips; to rounding those that slots show.

    Args:
      form: of reduction and clipping.
      optimizer: that clips and updates; None if it is not known.
    """

    def rewrite(record: StepRecord, before: State) -> StepRecord:
        names = [name for name in record.combined if all(name in gradients for gradients in record.gradients)]
        if not record.gradients or len(names) < len(record.combined):
            return record
        made = combine_gradients([{name: g[name] for name in names} for g in record.gradients], form)
        shown = _shown_gradients(record, before, optimizer)
        chosen = {n: _within_roundings(v, shown.get(n), [v], record.combined[n]) for n, v in made.items()}
        combined = {name: _as_type_of(record.combined[name], value) for name, value in chosen.items()}
        return dataclasses.replace(record, combined=combined)

    return Rewrite(lambda state: state, rewrite)


def _shown_gradients(record: StepRecord, before: State, optimizer: Optimizer | None) -> Arrays:
    """The combined gradients that slots, or the update, show."""
    rate = np.ravel([] if record.learning_rate is None else record.learning_rate)
    return derive_combined_gradients(
        optimizer, before, record.state, float(rate[0]) if rate.size else None, 0.0
    ).combined


def _combined_with(record: StepRecord, before: State, decays: Arrays, optimizer: Optimizer | None) -> Arrays:
    """{weight: combined gradient with its decay}, float64, of the weights that decay."""
    shown = _shown_gradients(record, before, optimizer)
    made = {}
    for name, decay in decays.items():
        if name in record.combined:
            own = np.asarray(record.combined[name], np.float64)
            made[name] = _within_roundings(own + decay, shown.get(name), [own, decay], record.combined[name])
    return made


def _gradients_with(record: StepRecord, decays: Arrays, combined: Arrays) -> list[Arrays]:
    """Each replica's gradients with the decay, whose mean is the combined one wherever the recorded ones' is."""
    found = [dict(gradients) for gradients in record.gradients]
    for name, decay in decays.items():
        own = [np.asarray(gradients[name], EXTENDED) for gradients in record.gradients if name in gradients]
        if len(own) < len(found):
            continue
        mean = sum(own, np.zeros(decay.shape, EXTENDED)) / (len(own) or 1)
        wanted = _within_roundings(mean + decay, combined.get(name), [*own, decay], record.gradients[0][name])
        for gradients, value in zip(found, own):
            gradients[name] = _as_type_of(gradients[name], value + decay + (wanted - mean - decay))
    return found


def _within_roundings(
    made: np.ndarray, shown: np.ndarray | None, addends: Sequence[np.ndarray], like: np.ndarray
) -> np.ndarray:
    """Returns a sum with the elements that another record shows of it, where they are within its addends' roundings.

    Args:
      made: the sum, float64.
      shown: the same from elsewhere; None for nothing.
      addends: of the sum.
      like: an array of the type whose roundings count.
    """
    if shown is None:
        return made
    eps = float(np.finfo(np.asarray(like).dtype).eps)
    size = sum((np.abs(addend) for addend in addends), np.zeros_like(made))
    return np.where(np.abs(shown - made) <= MOST_ROUNDINGS * eps * size, shown, made)


def _as_type_of(value: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.asarray(other).astype(np.asarray(value).dtype)
