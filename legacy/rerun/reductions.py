"""Combining of gradients and other results over any number of replicas of an old graph's towers.

Here: the ops, and what the graph's update is fed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, List, NamedTuple

import numpy as np
import tensorflow as tf

from workloads.lifted.plan import TensorType
from workloads.lifted.reduction_factors import factor_on_reduced, reduced_as
from workloads.numerics import combining

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workloads.lifted.plan import Combine, Phase, Plan
    from workloads.lifted.workload import LiftedWorkload

v1 = tf.compat.v1

#: {tensor of the plan: value}.
Values = Dict[str, np.ndarray]


class Reduction(NamedTuple):
    """Ops that combine one gradient, or another result, over the replicas.

    Attributes:
      combine: the combining.
      parts: for each replica, {tensor of its tower: placeholder}.
      result: what the graph's update gets in place of `combine.tensor`, or of its first part if that is affine.
    """

    combine: Combine
    parts: List[Dict[str, tf.Tensor]]
    result: tf.Tensor

    def given(self, towers: Sequence[Values]) -> Dict[tf.Tensor, np.ndarray]:
        """Returns {placeholder: value}, given what each replica's tower computed."""
        return {holder: values[name] for holders, values in zip(self.parts, towers) for name, holder in holders.items()}

    def replaced(self, value: np.ndarray) -> Values:
        """Returns {tensor of the plan: value} that makes the graph's own update use `value` as the combined gradient.

        Of an affine combining, what the graph adds besides stays in: all of the gradient goes in by the first tower.
        """
        if not self.combine.affine:
            return {self.combine.tensor: value}
        first, *others = [name for tower in self.combine.parts for name in tower]
        return {**{name: np.zeros_like(value) for name in others}, first: value}


def build_reduction(plan: Plan, phase: Phase, combine: Combine, towers: Sequence[int], form: str) -> Reduction:
    """Adds the ops that combine a gradient over replicas to the default graph.

    Args:
      plan: of the old graph.
      phase: phase of the plan that `combine` belongs to.
      combine: the combining.
      towers: for each replica, the tower whose graph it runs.
      form: of the mean, as in `LegacyOptions.average`.

    Returns:
      the `Reduction`.
    """
    parts = []
    for tower in towers:
        names = dict.fromkeys(combine.parts[tower])
        parts.append({name: v1.placeholder(plan.tensors[name].dtype) for name in names})
    totals = [tf.add_n([held[name] for name in combine.parts[t]]) for t, held in zip(towers, parts)]
    factor = factor_on_reduced(combine, phase.scale_before(combine), plan.towers, len(towers))
    if combine.kind == "concat":
        result = tf.concat([held[combine.parts[t][0]] for t, held in zip(towers, parts)], 0)
    else:
        result = combining.combine(totals, reduced_as(combine, plan.towers, len(towers)), form)
    if factor != 1.0 and result.dtype.is_floating:
        result = result * tf.cast(factor, result.dtype)
    return Reduction(combine, parts, result)


def joined_rows(plan: Plan) -> list[str]:
    """Returns the tensors that hold the rows of all towers, so that their length depends on the number of replicas."""
    combines = [combine for phase in plan.phases for combine in phase.reductions if not combine.affine]
    return [combine.tensor for combine in combines if combine.kind == "concat"]


def with_open_rows(workload: LiftedWorkload) -> LiftedWorkload:
    """Returns the workload with the first dimension of all joined rows open."""
    tensors = dict(workload.plan.tensors)
    for name in joined_rows(workload.plan):
        kind = tensors[name]
        tensors[name] = TensorType(kind.dtype, None if kind.shape is None else [None, *kind.shape[1:]])
    return dataclasses.replace(workload, plan=dataclasses.replace(workload.plan, tensors=tensors))
