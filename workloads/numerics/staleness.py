"""Asynchronous updates in a fixed order: which gradient is applied when, as pure functions that both sides call.

Gradient number u = step * replicas + replica is applied as update u + staleness. A step makes one gradient a replica,
all from the weights at its start, puts them behind those that still wait, and applies as many as it made: update after
update, each with that gradient alone. At staleness 0 that is the synchronous sum, applied in the replicas' order. The
gradients that wait are part of the state, as a slot of each weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Beginning of the names that `label_updates` gives.
_UPDATE = "update "
#: Suffix of the slot that holds a weight's waiting gradients, [staleness, *shape], the oldest first.
SLOT = "pending"


def slot_name(weight_name: str) -> str:
    """Returns the name of the slot in which gradients of a weight wait."""
    return f"{weight_name}/{SLOT}"


def initial_slots(staleness: int | None, name: str, weight: np.ndarray) -> dict[str, np.ndarray]:
    """Makes the slot of one weight in which no gradient waits yet.

    Args:
      staleness: number of gradients that wait; None for synchronous training.
      name: of the weight.
      weight: its value; the slot has its dtype.

    Returns:
      {slot name: zeros [staleness, *shape]}; empty if no gradient ever waits.
    """
    if not staleness:
        return {}
    return {slot_name(name): np.zeros((staleness,) + np.shape(weight), np.asarray(weight).dtype)}


def updates_without_gradient(staleness: int, replicas: int, step: int) -> int:
    """Counts a step's updates whose gradients would have been made before the first step: they are left out.

    >>> [updates_without_gradient(5, replicas=2, step=step) for step in range(4)]
    [2, 2, 1, 0]

    Args:
      staleness: number of updates by which a gradient is late.
      replicas: number of gradients, and of updates, in a step.
      step: number of the step, from 0.

    Returns:
      number of updates.
    """
    return min(replicas, max(0, staleness - step * replicas))


def label_updates(gradients: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Names the gradients of a step's updates, each a {weight name: gradient}, as a step record does.

    >>> label_updates([{"w": 1.0}, {"w": 2.0}])
    {'update 0: w': 1.0, 'update 1: w': 2.0}
    """
    return {
        f"{_UPDATE}{number}: {name}": value for number, update in enumerate(gradients) for name, value in update.items()
    }


def updates_by_number(combined: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Returns {number of the update: {weight name: gradient}} of gradients that `label_updates` has named.

    >>> updates_by_number(label_updates([{"w": 1.0}, {"w": 2.0}]))
    {0: {'w': 1.0}, 1: {'w': 2.0}}
    """
    updates: dict[int, dict[str, Any]] = {}
    for label, gradient in combined.items():
        number, name = label[len(_UPDATE) :].split(": ", 1)
        updates.setdefault(int(number), {})[name] = gradient
    return updates
