"""Dropout masks: how many elements each side keeps, and how far replicas and sides draw the same ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.program import Arrays

#: Elements that only one side keeps, and none that only the other keeps: by chance once in 2^20 times.
LEAST_NESTED = 20


@dataclasses.dataclass(frozen=True)
class DropoutMasks:
    """The masks of all steps; parts are 0 to 1, and NaN where nothing can be compared.

    Attributes:
      kept: {dropout name: (left, right) part of the elements that were kept, over all steps and replicas}.
      sizes: {dropout name: number of elements on the right that `kept` counts}.
      agree: (left, right) smallest part of the elements, over names and steps, on which a replica's mask is the
        first replica's.
      expected: (left, right) agreement of independent masks that keep as much.
      same: part of the elements that are the same on both sides.
      nested: names of the dropouts in which one side keeps every element that the other keeps, and more, in every mask:
        both draw the same noise and compare it with another rate.
    """

    kept: dict[str, tuple[float, float]]
    sizes: dict[str, int]
    agree: tuple[float, float]
    expected: tuple[float, float]
    same: float
    nested: tuple[str, ...] = ()


def measure_dropout_masks(steps: Sequence[ComparedStep]) -> DropoutMasks | None:
    """Returns the facts of the steps whose right records have masks, or None if none has."""
    steps = [step for step in steps if step.right.masks]
    if not steps or not steps[0].right.masks[0]:
        return None
    lefts, rights = [step.left.masks for step in steps], [step.right.masks for step in steps]
    names = list(steps[0].right.masks[0])
    kept = {name: (_kept_part(lefts, name), _kept_part(rights, name)) for name in names}
    return DropoutMasks(
        kept=kept,
        sizes={name: sum(np.size(masks[name]) for replicas in rights for masks in replicas) for name in names},
        agree=(_replica_agreement(lefts), _replica_agreement(rights)),
        expected=(
            _independent_agreement([left for left, _ in kept.values()]),
            _independent_agreement([right for _, right in kept.values()]),
        ),
        same=_side_agreement(lefts, rights, names),
        nested=tuple(name for name in names if _is_nested(_mask_pairs(lefts, rights, name))),
    )


def _kept_part(steps: Sequence[Sequence[Arrays]], name: str) -> float:
    """Mean part of the elements kept by one dropout; `steps` are lists over replicas of {dropout name: mask}."""
    values = [np.asarray(masks[name], bool).mean() for replicas in steps for masks in replicas if name in masks]
    return float(np.mean(values)) if values else float("nan")


def _independent_agreement(kept: Sequence[float]) -> float:
    """Part on which two independent masks agree: both keep an element, or both drop it; mean over the dropouts."""
    return float(np.mean([part**2 + (1 - part) ** 2 for part in kept]))


def _replica_agreement(steps: Sequence[Sequence[Arrays]]) -> float:
    values = [
        _agreement(replicas[0][name], other[name])
        for replicas in steps
        for other in replicas[1:]
        for name in replicas[0]
    ]
    return float(np.min(values)) if values else float("nan")


def _side_agreement(
    lefts: Sequence[Sequence[Arrays]], rights: Sequence[Sequence[Arrays]], names: Sequence[str]
) -> float:
    values = [_agreement(*pair) for name in names for pair in _mask_pairs(lefts, rights, name)]
    return float(np.mean(values)) if values else float("nan")


def _mask_pairs(
    lefts: Sequence[Sequence[Arrays]], rights: Sequence[Sequence[Arrays]], name: str
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(left, right) masks of one dropout, of every step and replica in which both sides show it."""
    return [
        (np.asarray(left[name], bool), np.asarray(right[name], bool))
        for left_replicas, right_replicas in zip(lefts, rights)
        for left, right in zip(left_replicas, right_replicas)
        if name in left
    ]


def _is_nested(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> bool:
    """Whether one side's kept elements include all of the other's, and are more, by far too many to be chance."""
    if not pairs or any(left.shape != right.shape for left, right in pairs):
        return False
    only_left = sum(int(np.sum(left & ~right)) for left, right in pairs)
    only_right = sum(int(np.sum(right & ~left)) for left, right in pairs)
    return min(only_left, only_right) == 0 and max(only_left, only_right) >= LEAST_NESTED


def _agreement(first: np.ndarray, second: np.ndarray) -> float:
    """Part of the elements that two masks have in common; NaN for masks of different shapes."""
    first, second = np.asarray(first, bool), np.asarray(second, bool)
    return float(np.mean(first == second)) if first.shape == second.shape else float("nan")
