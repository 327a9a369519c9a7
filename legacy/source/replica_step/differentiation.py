"""Text of how a replica differentiates its losses: what is minimized, and the factors on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, List

import numpy as np

from legacy.source.basics.rendering import literal_text
from legacy.source.update.written import loss_name
from workloads.lifted.reduction_factors import sums_to_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from legacy.source.update.written import WrittenUpdate

#: {style: how it differentiates a loss with respect to a group of weights}.
DIFFERENTIATE = {
    "standalone": 'tf.gradients({loss}, [values[name] for name in {group}]{seed}, unconnected_gradients="zero")',
    "workload": "scope.gradients({loss}, {group}{seed})",
}


def names_of_losses(update: WrittenUpdate) -> List[str]:
    """Returns the names of a tower's losses: the reported one, then others, or its part that depends on data."""
    if len(update.phase.minimized) == 1:
        return ["loss", "data_loss"]
    return [loss_name(number) for number in range(1 + len(update.phase.other_losses))]


def minimized_text(names: Sequence[str], numbers: Sequence[int]) -> str:
    """Returns the text of what is differentiated: a loss, or several whose sum is minimized.

    >>> minimized_text(["loss", "loss2"], [0]), minimized_text(["loss", "loss2"], [0, 1])
    ('loss', '[loss, loss2]')
    """
    text = ", ".join(names[number] for number in numbers)
    return f"[{text}]" if len(numbers) > 1 else text


def seed_lines(scales: Sequence[float], replicas: int = 0) -> List[str]:
    """Returns the line that makes the derivatives which differentiation starts with: one for all losses, or a list.

    >>> seed_lines([0.5, 0.5]), seed_lines([0.5, 0.25])
    (['seed = tf.constant(0.5)'], ['seeds = [tf.constant(0.5), tf.constant(0.25)]'])
    >>> seed_lines([0.5], 2)
    ['seed = tf.constant(1.0 / scope.replicas)']

    Args:
      scales: factor on each of a tower's losses.
      replicas: number of towers whose part of a mean the factors make; 0 if they make none.

    Returns:
      The line; nothing where there are no factors.
    """
    texts = []
    for scale in map(np.float32, scales):
        share = np.float32(scale * np.float32(replicas))
        is_part = replicas and np.float32(float(share) / replicas) == scale
        texts.append(f"tf.constant({literal_text(share) + ' / scope.replicas' if is_part else literal_text(scale)})")
    if len(set(texts)) > 1:
        return [f"seeds = [{', '.join(texts)}]"]
    return [f"seed = {texts[0]}"] if texts else []


def seed_text(scales: Sequence[float], numbers: Sequence[int]) -> str:
    """Returns the text of the argument that gives the seeds of some losses.

    >>> seed_text([0.5, 0.5], [0, 1]), seed_text([0.5, 0.25], [0, 1]), seed_text([0.5, 0.25], [1])
    (', [seed] * 2', ', seeds', ', seeds[1]')
    """
    if len(set(map(np.float32, scales))) == 1:
        return f", [seed] * {len(numbers)}" if len(numbers) > 1 else ", seed"
    if len(numbers) == 1:
        return f", seeds[{numbers[0]}]"
    is_all = list(numbers) == list(range(len(scales)))
    return ", seeds" if is_all else f", [{', '.join(f'seeds[{number}]' for number in numbers)}]"


def derivative_lines(update: WrittenUpdate, minimized: Sequence[str], style: str) -> List[str]:
    """Returns the lines that make the list `gradients`, of all weights of a train op.

    Args:
      update: the train op.
      minimized: text of what is minimized for each list of weights.
      style: see `DIFFERENTIATE`.

    Returns:
      The lines.
    """
    path, towers = update.path, len(update.phase.losses)
    lines = seed_lines(path.scales, towers if path.combine and sums_to_mean(update.phase, towers) else 0)
    for name, group, numbers in zip(minimized, update.groups, path.weights_of_losses()):
        seed = seed_text(path.scales, numbers) if path.scales else ", factor" if update.factor.lines else ""
        seed += "s" * bool(update.factor.further)
        assign = "gradients += " if group != update.groups[0] else "gradients = "
        lines.append(assign + DIFFERENTIATE[style].format(loss=name, group=group, seed=seed))
    return lines
