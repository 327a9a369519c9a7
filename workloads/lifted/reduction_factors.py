"""Factors on losses and gradients that an old program wrote for its number of towers, at another number of replicas.

Both sides follow these conventions; what they compute by them is their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lifted.plan import is_indices_label

if TYPE_CHECKING:
    from workloads.lifted.plan import Combine, Phase


def rescaling(combine: Combine, loss_scale: float, towers: int, replicas: int) -> float:
    """Returns the factor that turns a sum written for `towers` towers into one over `replicas` replicas.

    It is not 1 where the graph weights each tower's loss, or each tower's rows, with one over the towers, nor where a
    single tower's loss is a mean of its examples.

    Args:
      combine: the combining of one gradient, or of another result.
      loss_scale: factor on the towers' losses before they are differentiated; 1 for a result that is no gradient.
      towers: number of towers.
      replicas: number of replicas.

    Returns:
      The factor.
    """
    if combine.divided:
        return towers / replicas
    scale = combine.scale if combine.kind == "sum" else 1.0
    averaged = any(abs(abs(loss_scale) * factor * towers - 1) < 1e-6 for factor in (1.0, scale))
    losses_averaged = averaged and combine.kind in ("sum", "concat")
    rows_averaged = combine.kind == "concat" and abs(combine.scale * towers - 1) < 1e-6
    return towers / replicas if (losses_averaged or rows_averaged) and towers > 1 else 1.0


def reduced_as(combine: Combine, towers: int, replicas: int) -> str:
    """Returns how a result is reduced over replicas: as the graph does it over its towers.

    A sum that the graph divides by the towers, among other factors, is a mean at other numbers, as it is in a source.

    Args:
      combine: the combining of one gradient, or of another result.
      towers: number of towers.
      replicas: number of replicas.

    Returns:
      The kind of the combining, or "mean".
    """
    return "mean" if combine.kind == "sum" and combine.divided and replicas != towers else combine.kind


def factor_on_reduced(combine: Combine, loss_scale: float, towers: int, replicas: int) -> float:
    """Returns the factor on a result that is reduced over replicas by `reduced_as`.

    Args:
      combine, loss_scale, towers, replicas: see `rescaling`.

    Returns:
      The factor; of an affine combining, that on what the first tower gets.
    """
    if reduced_as(combine, towers, replicas) != combine.kind:
        return towers * (1.0 if combine.affine else combine.scale)
    factor = rescaling(combine, loss_scale, towers, replicas)
    if combine.affine:
        return factor * (towers if combine.kind == "mean" else 1)
    return factor * (combine.scale if combine.kind != "mean" else 1.0)


def sums_to_mean(phase: Phase, towers: int) -> bool:
    """Returns whether each tower's loss is divided by the number of towers, so that their sum is a mean.

    What is maximized, such as a bound of the likelihood, has the factor -1 / towers.

    Args:
      phase: the phase.
      towers: number of towers.

    Returns:
      The answer; no for a single tower.
    """
    return towers > 1 and abs(abs(phase.loss_scale) * towers - 1) < 1e-6


def sums_over_all_examples(phase: Phase, towers: int) -> bool:
    """Returns whether each tower's loss is divided by the number of all towers' examples, so that their sum is a mean.

    Args:
      phase: the phase.
      towers: number of towers.

    Returns:
      The answer; no for a single tower, and where it is not the loss that is divided.
    """
    combined = [combine for combine in phase.combine if not is_indices_label(combine.weight)]
    return towers > 1 and bool(combined) and all(one.divided and one.scale == 1.0 for one in combined)


def sums_parts_of_mean(phase: Phase, towers: int) -> bool:
    """Returns whether each tower's loss is its part of a mean, over the towers or over all their examples.

    Args:
      phase: the phase.
      towers: number of towers.

    Returns:
      The answer.
    """
    return sums_to_mean(phase, towers) or sums_over_all_examples(phase, towers)


def is_averaged_twice(phase: Phase, towers: int) -> bool:
    """Returns whether each tower's loss is divided by the towers and their gradients are averaged besides.

    Args:
      phase: the phase.
      towers: number of towers.

    Returns:
      True if every update then takes 1 / towers of the mean loss's gradient.
    """
    divided = sums_to_mean(phase, towers) and not phase.shared_loss
    return divided and bool(phase.combine) and all(combine.kind == "mean" for combine in phase.combine)
