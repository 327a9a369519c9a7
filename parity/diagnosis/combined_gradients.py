"""How each side made one gradient of its replicas': mean or sum, clipped where and how, or some other weights."""

from __future__ import annotations

import dataclasses
from typing import Dict, List, Optional

import numpy as np

from parity.comparison.fits import CombinationFit, fit_combination, fit_factor, flatten_arrays, relative_norm, spread
from parity.diagnosis import derived_gradients as derived
from parity.diagnosis.learning_rates import learning_rate_of

HOW = ("global_norm", "norm", "value")


@dataclasses.dataclass(frozen=True)
class CombinedForm:
    """`reduce` is "mean" or "sum"; `where` "tower", "combined" or None for no clipping, `how` and `limit` as `Clip`."""

    reduce: str
    where: Optional[str] = None
    how: str = "global_norm"
    limit: float = 0.0

    def __str__(self):
        if self.where is None:
            return f"the {self.reduce} of the replicas' gradients"
        clip = "clipped to {:.6g} ({})".format(self.limit, self.how.replace("_", " "))
        if self.where == "tower":
            return f"the {self.reduce} of each replica's gradients {clip}"
        return f"the {self.reduce} of the replicas' gradients, then {clip}"


@dataclasses.dataclass(frozen=True)
class CombinedFit:
    """What explains one side's combined gradients.

    Attributes:
      fits: {`CombinedForm`: largest residual of a step} of the forms that explain every step.
      weights: one a step: k of `k * sum of gradients`, and its residual.
      coefficients: one `CombinationFit` a step, of the combined gradient by the replicas' own.
      norms: one a step: the combined gradient's length.
      derived: whether the combined gradient was worked out from the update.
      borrowed: whether the replicas' gradients are the left side's.
      steps: how many steps were seen.
      noise: residual below which nothing is known.
    """

    fits: Dict[CombinedForm, float]
    weights: list
    coefficients: List[CombinationFit]
    norms: List[float]
    derived: bool
    borrowed: bool
    steps: int
    noise: float

    @property
    def weight(self):
        """k of `k * sum of gradients` if it explains every step with one number, or not-a-number."""
        values = [fit.factor for fit in self.weights]
        clean = values and all(fit.residual <= self.noise for fit in self.weights) and spread(values) <= 1e-4
        return float(np.mean(values)) if clean else float("nan")

    @property
    def first(self):
        """The first `CombinedForm` that explains every step, or None."""
        return next(iter(self.fits), None)


def fit_combined_gradients(evidence):
    """(left, right) `CombinedFit`; None for a side that does not show enough."""
    left = _side(evidence, 0, _candidates(evidence, None))
    right = _side(evidence, 1, _candidates(evidence, left))
    return left, right


def combine_gradients(gradients, form):
    """What a `CombinedForm` makes of a list of {weight: gradient}, as {weight: float64 array}."""
    towers = [clip_gradients(g, form) for g in gradients] if form.where == "tower" else gradients
    total = {name: sum(np.asarray(g[name], np.float64) for g in towers) for name in towers[0]}
    if form.reduce == "mean":
        total = {name: value / len(towers) for name, value in total.items()}
    return clip_gradients(total, form) if form.where == "combined" else total


def clip_gradients(gradients, form):
    """{weight: gradient} clipped as the form says (`tf.clip_by_global_norm`, `clip_by_norm`, `clip_by_value`)."""
    wide = {name: np.asarray(value, np.float64) for name, value in gradients.items()}
    if form.how == "value":
        return {name: np.clip(value, -form.limit, form.limit) for name, value in wide.items()}
    norms = {name: np.linalg.norm(value) for name, value in wide.items()}
    whole = np.sqrt(sum(norm**2 for norm in norms.values()))
    lengths = {name: whole if form.how == "global_norm" else norms[name] for name in wide}
    return {name: value * (form.limit / max(lengths[name], form.limit)) for name, value in wide.items()}


def _side(evidence, side, candidates):
    seen = [entry for entry in (_seen(evidence, step, side) for step in evidence.steps) if entry is not None]
    if not seen:
        return None
    noise = max([evidence.clean_residual] + [entry.noise for entry in seen])
    vectors = [
        ([flatten_arrays(g, entry.names) for g in entry.gradients], flatten_arrays(entry.combined, entry.names))
        for entry in seen
    ]
    weights = [fit_factor(sum(towers), combined) for towers, combined in vectors]
    coefficients = [fit_combination(towers, combined) for towers, combined in vectors]
    norms = [float(np.linalg.norm(combined)) for _, combined in vectors]
    towers = [[float(np.linalg.norm(t)) for t in row] for row, _ in vectors]
    limits = _limits(evidence, weights, coefficients, norms, towers, noise)
    fits = {}
    for form in candidates + _forms(evidence, limits, candidates):
        if form not in fits:
            worst = _worst(seen, form, noise)
            if worst is not None:
                fits[form] = worst
    best = min(fits.values(), default=0.0)
    fits = {form: worst for form, worst in fits.items() if worst <= max(10 * best, 20 * evidence.eps)}
    return CombinedFit(
        fits,
        weights,
        coefficients,
        norms,
        any(entry.derived for entry in seen),
        any(entry.borrowed for entry in seen),
        len(seen),
        noise,
    )


@dataclasses.dataclass(frozen=True)
class _Seen:
    """One side's replicas' gradients and combined gradient in one step."""

    gradients: list
    combined: dict
    names: list
    derived: bool
    borrowed: bool
    noise: float


def _seen(evidence, step, side):
    record = (step.left, step.right)[side]
    before = (step.left_before, step.right_before)[side]
    gradients, combined, noise, borrowed = record.gradients, record.combined, 0.0, False
    if not gradients and side == 1 and step.same_state and step.left.gradients:
        gradients, borrowed = step.left.gradients, True
    was_derived = not combined
    if was_derived:
        rate = learning_rate_of(record) or learning_rate_of(step.left)
        combined, noise = derived.derive_combined_gradients(
            evidence.context.optimizer, before, record.state, rate, evidence.eps
        )
    if not gradients or not combined:
        return None
    names = [name for name in sorted(combined) if all(_alike(g, combined, name) for g in gradients)]
    if not names or not all(np.all(np.isfinite(flatten_arrays(g, names))) for g in list(gradients) + [combined]):
        return None
    return _Seen(list(gradients), combined, names, was_derived, borrowed, noise)


def _alike(gradients, combined, name):
    """Whether both have it in one shape; rows of an embedding are no dense gradient."""
    return name in gradients and np.shape(gradients[name]) == np.shape(combined[name])


def _candidates(evidence, left):
    """The form that the context or the left side says, before any other."""
    context = evidence.context
    said = []
    if context.combine is not None:
        rule = context.clip
        said = [
            CombinedForm(context.combine, rule.where, rule.how, rule.limit) if rule else CombinedForm(context.combine)
        ]
    return said + (list(left.fits)[:1] if left is not None else [])


def _limits(evidence, weights, coefficients, norms, towers, noise):
    """Clipping limits to try: the workload's, that times and over the replicas, and what the fits themselves show."""
    replicas, found = len(towers[0]), []
    clean = [i for i, fit in enumerate(weights) if fit.residual <= noise]
    if evidence.context.clip is not None:
        limit = evidence.context.clip.limit
        found += [limit, limit * replicas, limit / replicas]
    for whole in (1.0, 1.0 / replicas):  # a weight below the whole one was clipped
        after = [norms[i] for i in clean if weights[i].factor < 0.999 * whole]
        before = [
            share * norm / whole
            for fit, row in zip(coefficients, towers)
            if fit.residual <= noise
            for share, norm in zip(fit.coefficients, row)
            if share < 0.999 * whole
        ]
        found += [float(np.median(values)) for values in (after, before) if values and spread(values) <= 1e-3]
    return list(dict.fromkeys(limit for limit in found if limit > 0))


def _forms(evidence, limits, candidates):
    """All forms to try: without clipping first, then those that differ from the first candidate in the least."""
    like = candidates[0] if candidates else CombinedForm("mean")
    clipped = [
        CombinedForm(reduce, where, how, limit)
        for reduce in ("mean", "sum")
        for how in HOW
        for where in ("combined", "tower")
        for limit in limits
    ]
    unlike = lambda form: (form.reduce != like.reduce) + (form.where != like.where) + (form.how != like.how)  # noqa: E731
    return [CombinedForm("mean"), CombinedForm("sum")] + sorted(clipped, key=unlike)


def _worst(seen, form, noise):
    """Largest residual of a step under `form`, or None as soon as one is beyond `noise`."""
    worst = 0.0
    for entry in seen:
        expected = flatten_arrays(
            combine_gradients([{n: g[n] for n in entry.names} for g in entry.gradients], form), entry.names
        )
        worst = max(worst, relative_norm(flatten_arrays(entry.combined, entry.names) - expected, expected))
        if not worst <= noise:
            return None
    return worst
