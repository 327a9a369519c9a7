"""Forms of combining gradients: mean or sum of the replicas', clipped nowhere, in each tower, or after combining."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from workloads.numerics.clip_rule import Clip
from workloads.program import Arrays


@dataclasses.dataclass(frozen=True)
class CombinedForm:
    """One way to make the optimizer's gradient of the replicas' gradients.

    Attributes:
      reduce: "mean" or "sum".
      where: "tower" to clip each replica's gradients first, "combined" to clip the result, None for no clipping.
      how: as in `Clip`: "global_norm", "norm" (each weight's gradient on its own) or "value"; unused without clipping.
      limit: as in `Clip`; unused without clipping.
      epsilon: added to the norm that the limit is divided by; unused for values.
    """

    reduce: str
    where: str | None = None
    how: str = "global_norm"
    limit: float = 0.0
    epsilon: float = 0.0

    def __str__(self) -> str:
        if self.where is None:
            return f"the {self.reduce} of the replicas' gradients"
        norm = self.how.replace("_", " ") + (f" + {self.epsilon:g}" if self.epsilon else "")
        clip = f"clipped to {self.limit:.6g} ({norm})"
        if self.where == "tower":
            return f"the {self.reduce} of each replica's gradients {clip}"
        return f"the {self.reduce} of the replicas' gradients, then {clip}"


def stated_form(reduce: str | None, clip: Clip | None) -> CombinedForm | None:
    """Returns the form that a job states: "mean" or "sum", and its clipping; None if it states neither."""
    if reduce is None:
        return None
    return CombinedForm(reduce) if clip is None else CombinedForm(reduce, clip.where, clip.how, clip.limit)


def combine_gradients(gradients: Sequence[Mapping[str, np.ndarray]], form: CombinedForm) -> Arrays:
    """Returns {weight: combined gradient}, float64, of each replica's {weight: gradient}."""
    towers = [clip_gradients(gradient, form) for gradient in gradients] if form.where == "tower" else gradients
    total = {name: _sum([np.asarray(tower[name], np.float64) for tower in towers]) for name in towers[0]}
    if form.reduce == "mean":
        total = {name: value / len(towers) for name, value in total.items()}
    return clip_gradients(total, form) if form.where == "combined" else total


def clip_gradients(gradients: Mapping[str, np.ndarray], form: CombinedForm) -> Arrays:
    """Returns {weight: gradient}, float64, clipped at the form's limit.

    As `tf.clip_by_global_norm`, `tf.clip_by_norm` and `tf.clip_by_value` do it; with an epsilon as PyTorch's
    `clip_grad_norm_` does, which adds 1e-6 to the norm.
    """
    wide = {name: np.asarray(value, np.float64) for name, value in gradients.items()}
    if form.how == "value":
        return {name: np.clip(value, -form.limit, form.limit) for name, value in wide.items()}
    norms = {name: np.linalg.norm(value) for name, value in wide.items()}
    whole = np.sqrt(sum(norm**2 for norm in norms.values()))
    lengths = {name: whole if form.how == "global_norm" else norms[name] for name in wide}
    return {name: value * (form.limit / max(lengths[name] + form.epsilon, form.limit)) for name, value in wide.items()}


def _sum(addends: Sequence[np.ndarray]) -> np.ndarray:
    return sum(addends, np.zeros(()))
