"""Initializers whose spread follows from the shape of the weight: variance scaling, recognised over several weights."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from workloads.initializers import TRUNCATED, fan
from workloads.lifted.plan.initializers import NORMAL, TRUNCATED_NORMAL, UNIFORM

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from legacy.saved.analysis.initializers import FoundInitializer

#: Modes of variance scaling, the most usual one first.
MODES = ("fan_in", "fan_avg", "fan_out")
#: Relative difference within which two scales are one: a few roundings of float32.
NEAR = 1e-6
#: Digits of a float32.
MOST_DIGITS = 8
_DISTRIBUTIONS = {TRUNCATED_NORMAL: "truncated_normal", NORMAL: "untruncated_normal", UNIFORM: "uniform"}


class Scaling(NamedTuple):
    """Variance scaling, see `workloads.initializers.VarianceScaling`.

    Attributes:
      scale: the variance times the number that `mode` names.
      mode: "fan_in", "fan_avg" or "fan_out".
      distribution: "truncated_normal", "untruncated_normal" or "uniform".
    """

    scale: float
    mode: str
    distribution: str


def find_scaled(found: Mapping[str, Tuple[FoundInitializer, Sequence[int]]]) -> Dict[str, Scaling]:
    """Recognises the weights of a program that are drawn with variance scaling.

    One weight does not tell, since its standard deviation may be any number. Weights of
    different sizes with one scale do.

    Args:
      found: {weight: its initializer and shape}.

    Returns:
      {weight: its scaling}, of those that have one scale in common; others are left out.
    """
    result: Dict[str, Scaling] = {}
    while True:
        left = {name: entry for name, entry in found.items() if name not in result}
        groups = [group for mode in MODES for group in _with_one_scale(left, mode)]
        if not groups:
            return result
        largest = max(groups, key=len)  # a network whose layers all double their channels fits several modes in part
        result.update(largest)


def _with_one_scale(
    found: Mapping[str, Tuple[FoundInitializer, Sequence[int]]], mode: str
) -> Iterator[Dict[str, Scaling]]:
    """Yields {weight: scaling} of those weights of different sizes that have one scale."""
    alike: Dict[str, List[Tuple[float, str]]] = collections.defaultdict(list)
    for name, (initializer, shape) in found.items():
        variance = _variance(initializer)
        if variance and len(shape) > 1:
            alike[_DISTRIBUTIONS[initializer.kind]].append((variance * fan(shape, mode), name))
    for distribution, scales in alike.items():
        for group in _groups(sorted(scales)):
            if len({fan(found[name][1], mode) for _, name in group}) > 1:
                scaling = Scaling(_shortest([scale for scale, _ in group]), mode, distribution)
                yield {name: scaling for _, name in group}


def _variance(initializer: FoundInitializer) -> Optional[float]:
    """Returns the variance of numbers that are drawn around 0; None for others."""
    numbers: Sequence[Any] = [float(number) for number in initializer.numbers]
    if initializer.kind == TRUNCATED_NORMAL:
        return float((numbers[0] * TRUNCATED) ** 2)
    if initializer.kind == NORMAL and numbers[1] == 0.0:
        return float(numbers[0] ** 2)
    if initializer.kind == UNIFORM and numbers[0] == -numbers[1]:
        return float(numbers[1] ** 2 / 3.0)
    return None


def _groups(scales: Sequence[Tuple[float, str]]) -> List[List[Tuple[float, str]]]:
    """Divides a sorted list where two scales that follow each other differ by more than roundings."""
    groups: List[List[Tuple[float, str]]] = []
    for entry in scales:
        if groups and entry[0] - groups[-1][-1][0] <= NEAR * entry[0]:
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return groups


def _shortest(scales: Sequence[float]) -> float:
    """Returns the number with the fewest digits that differs from some scales by roundings alone.

    >>> _shortest([2.0000001, 1.9999999]), _shortest([2.01172693])
    (2.0, 2.011727)
    """
    middle = float(np.median(scales))
    for digits in range(1, MOST_DIGITS):
        short = float(f"{middle:.{digits}g}")
        if abs(short - middle) <= NEAR * middle:
            return short
    return middle
