"""Combined gradients: the form of reduction and clipping that makes them of each side's own replica gradients."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.comparison.fits import (
    CombinationFit,
    FactorFit,
    fit_combination,
    fit_factor,
    flatten_arrays,
    near,
    relative_norm,
    spread,
)
from parity.diagnosis.candidates.combined_forms import CombinedForm, combine_gradients, stated_form
from parity.diagnosis.facts.derived_gradients import derive_combined_gradients
from parity.diagnosis.stage_checks.observed_updates import learning_rate_of
from workloads.program import Arrays
from workloads.workload import CLIP_HOW

if TYPE_CHECKING:
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep

#: A form beside the best one also explains a side if its residual is at most so many times the best's.
AS_GOOD = 10

#: Or if it is at most so many roundings, which are those of a norm: one more for so many elements along the side of a
#: square, whose squares kernels add up in a row.
LEAST_ROUNDINGS, MOST_ROUNDINGS, SIDE = 6.0, 20.0, 16.0

#: A limit that the fits show is a candidate's if it is within this part of it.
SAME_LIMIT = 1e-4

#: The largest elements of several steps' gradients are a limit by value within this part.
SAME_ELEMENT = 1e-6

#: Added to the norm by PyTorch's `clip_grad_norm_`.
EPSILON = 1e-6


@dataclasses.dataclass(frozen=True)
class CombinedFit:
    """Explanation of one side's combined gradients.

    Attributes:
      fits: {form: largest residual of a step} of the forms that explain every step, the likeliest first.
      weights: one fit a step: the factor k of `k * sum of the replicas' gradients`.
      coefficients: one fit a step: the combined gradient by the replicas' own.
      norms: one a step: length of the combined gradient.
      derived: whether the combined gradient was worked out from the update.
      borrowed: whether the replicas' gradients are the left side's.
      steps: number of steps.
      noise: residual up to which a fit explains a step.
    """

    fits: dict[CombinedForm, float]
    weights: list[FactorFit]
    coefficients: list[CombinationFit]
    norms: list[float]
    derived: bool
    borrowed: bool
    steps: int
    noise: float

    @property
    def weight(self) -> float:
        """The factor k of `k * sum of gradients` if one number explains every step, else NaN."""
        values = [fit.factor for fit in self.weights]
        clean = values and all(fit.residual <= self.noise for fit in self.weights) and spread(values) <= 1e-4
        return float(np.mean(values)) if clean else float("nan")

    @property
    def first(self) -> CombinedForm | None:
        """The first form that explains every step, or None."""
        return next(iter(self.fits), None)


class _CombinedStep(NamedTuple):
    """One side's replicas' gradients and combined gradient in one step, in the weights `names` that all have."""

    gradients: list[Arrays]
    combined: Arrays
    names: list[str]
    derived: bool
    borrowed: bool
    noise: float

    @property
    def replica_vectors(self) -> list[np.ndarray]:
        """Each replica's gradients as one vector."""
        return [flatten_arrays(gradient, self.names) for gradient in self.gradients]

    @property
    def combined_vector(self) -> np.ndarray:
        """The combined gradients as one vector."""
        return flatten_arrays(self.combined, self.names)


class _StepFits(NamedTuple):
    """Fits of one step that assume no form: see `CombinedFit`.

    Attributes:
      weight, coefficients, norm: of the combined gradients.
      replica_norms: the replicas' lengths.
      largest: the combined gradients' largest element.
    """

    weight: FactorFit
    coefficients: CombinationFit
    norm: float
    replica_norms: list[float]
    largest: float = 0.0


def fit_combined_gradients(evidence: Evidence) -> tuple[CombinedFit | None, CombinedFit | None]:
    """Returns (left, right) explanation; None for a side that does not show enough."""
    left = _fit_side(evidence, 0, _candidates(evidence, None))
    return left, _fit_side(evidence, 1, _candidates(evidence, left))


def _fit_side(evidence: Evidence, side: int, candidates: list[CombinedForm]) -> CombinedFit | None:
    made = [_combined_step(evidence, step, side) for step in evidence.steps]
    steps = [step for step in made if step is not None]
    if not steps:
        return None
    noise = max([evidence.clean_residual] + [step.noise for step in steps])
    fits = [_fit_step(step) for step in steps]
    forms = candidates + _possible_forms(_possible_limits(evidence, fits, noise, candidates), candidates)
    return CombinedFit(
        fits=_explaining_forms(steps, forms, noise, evidence.eps),
        weights=[fit.weight for fit in fits],
        coefficients=[fit.coefficients for fit in fits],
        norms=[fit.norm for fit in fits],
        derived=any(step.derived for step in steps),
        borrowed=any(step.borrowed for step in steps),
        steps=len(steps),
        noise=noise,
    )


def _combined_step(evidence: Evidence, step: ComparedStep, side: int) -> _CombinedStep | None:
    """One side's step, with what it does not show borrowed or worked out; None if that cannot be done."""
    record = (step.left, step.right)[side]
    before = (step.left_before, step.right_before)[side]
    gradients, borrowed = record.gradients, False
    if not gradients and side == 1 and step.same_state and step.left.gradients:
        gradients, borrowed = step.left.gradients, True
    combined, noise, derived = record.combined, 0.0, not record.combined
    if derived:
        rate = learning_rate_of(record) or learning_rate_of(step.left)
        combined, noise = derive_combined_gradients(
            evidence.context.optimizer, before, record.state, rate, evidence.eps
        )
    if not gradients or not combined:
        return None
    names = [name for name in sorted(combined) if all(_same_shape(gradient, combined, name) for gradient in gradients)]
    found = _CombinedStep(list(gradients), combined, names, derived, borrowed, noise)
    finite = all(np.all(np.isfinite(vector)) for vector in [*found.replica_vectors, found.combined_vector])
    return found if names and finite else None


def _same_shape(gradient: Arrays, combined: Arrays, name: str) -> bool:
    """Whether both have it in one shape; rows of an embedding are no dense gradient."""
    return name in gradient and np.shape(gradient[name]) == np.shape(combined[name])


def _fit_step(step: _CombinedStep) -> _StepFits:
    replicas, combined = step.replica_vectors, step.combined_vector
    return _StepFits(
        weight=fit_factor(sum(replicas, np.zeros(())), combined),
        coefficients=fit_combination(replicas, combined),
        norm=float(np.linalg.norm(combined)),
        replica_norms=[float(np.linalg.norm(replica)) for replica in replicas],
        largest=float(np.max(np.abs(combined), initial=0.0)),
    )


def _candidates(evidence: Evidence, left: CombinedFit | None) -> list[CombinedForm]:
    """The forms to try before any other: the one that the context states, and the one that explains the left side."""
    stated = stated_form(evidence.context.combine, evidence.context.clip)
    return ([stated] if stated is not None else []) + (list(left.fits)[:1] if left is not None else [])


def _possible_limits(
    evidence: Evidence, fits: Sequence[_StepFits], noise: float, candidates: Sequence[CombinedForm]
) -> list[float]:
    """Clipping limits to try: the candidates', those times and over the replicas, and others that the fits show."""
    replicas = len(fits[0].replica_norms)
    limits = [form.limit for form in candidates if form.where is not None]
    if evidence.context.clip is not None:
        limit = evidence.context.clip.limit
        limits += [limit, limit * replicas, limit / replicas]
    for unclipped in (1.0, 1.0 / replicas):  # the weight of a sum, and of a mean
        for lengths in (_lengths_after(fits, unclipped, noise), _lengths_before(fits, unclipped, noise)):
            shown = len(lengths) > 1 or len(fits) == 1  # one of many steps shows a factor of that step as well
            if lengths and shown and spread(lengths) <= 1e-3:
                shown_limit = float(np.median(lengths))
                limits += [] if any(near(shown_limit, limit, SAME_LIMIT) for limit in limits) else [shown_limit]
    limits += [largest / count for largest in _largest_alike(fits) for count in (1, replicas)]
    return list(dict.fromkeys(limit for limit in limits if limit > 0))


def _largest_alike(fits: Sequence[_StepFits]) -> list[float]:
    """The combined gradients' largest element, where it is the same in all of several steps: clipped by value."""
    elements = [fit.largest for fit in fits]
    return elements[:1] if len(elements) > 1 and spread(elements) <= SAME_ELEMENT else []


def _lengths_after(fits: Sequence[_StepFits], unclipped: float, noise: float) -> list[float]:
    """Lengths of the combined gradients of a smaller weight than the unclipped one: clipped after combining."""
    return [fit.norm for fit in fits if fit.weight.residual <= noise and fit.weight.factor < 0.999 * unclipped]


def _lengths_before(fits: Sequence[_StepFits], unclipped: float, noise: float) -> list[float]:
    """Lengths that the replicas' gradients of a smaller weight were cut to: clipped before combining."""
    return [
        float(share * norm / unclipped)
        for fit in fits
        if fit.coefficients.residual <= noise
        for share, norm in zip(fit.coefficients.coefficients, fit.replica_norms)
        if share < 0.999 * unclipped
    ]


def _possible_forms(limits: Sequence[float], candidates: Sequence[CombinedForm]) -> list[CombinedForm]:
    """All forms to try: without clipping first, then by the number of choices that differ from the first candidate."""
    like = candidates[0] if candidates else CombinedForm("mean")
    clipped = [
        CombinedForm(reduce, where, how, limit, epsilon)
        for reduce in ("mean", "sum")
        for how in CLIP_HOW
        for where in ("combined", "tower")
        for limit in limits
        for epsilon in (0.0, EPSILON)
        if how != "value" or not epsilon
    ]

    def unlike(form: CombinedForm) -> int:
        other = (form.reduce != like.reduce) + (form.where != like.where) + (form.how != like.how)
        return other + (form.epsilon != like.epsilon)

    return [CombinedForm("mean"), CombinedForm("sum"), *sorted(clipped, key=unlike)]


def _explaining_forms(
    steps: Sequence[_CombinedStep], forms: Sequence[CombinedForm], noise: float, eps: float
) -> dict[CombinedForm, float]:
    """{form: largest residual} of the forms that explain every step about as well as the best one does."""
    residuals = {form: _largest_residual(steps, form, noise) for form in dict.fromkeys(forms)}
    fits = {form: worst for form, worst in residuals.items() if worst is not None}
    elements = max(np.size(gradient[name]) for step in steps for gradient in step.gradients for name in step.names)
    roundings = min(MOST_ROUNDINGS, LEAST_ROUNDINGS + float(np.sqrt(elements)) / SIDE)
    limit = max(AS_GOOD * min(fits.values(), default=0.0), roundings * eps)
    return {form: worst for form, worst in fits.items() if worst <= limit}


def _largest_residual(steps: Sequence[_CombinedStep], form: CombinedForm, noise: float) -> float | None:
    """Largest residual of a step under `form`, or None as soon as one is beyond `noise`."""
    worst = 0.0
    for step in steps:
        gradients = [{name: gradient[name] for name in step.names} for gradient in step.gradients]
        expected = flatten_arrays(combine_gradients(gradients, form), step.names)
        worst = max(worst, relative_norm(step.combined_vector - expected, expected))
        if not worst <= noise:
            return None
    return worst
