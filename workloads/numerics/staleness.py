"""Asynchronous updates in a fixed order: which gradient is applied when, as pure functions that both sides call.

Gradient number u = step * replicas + replica is applied as update u + staleness. A step makes one gradient a replica,
all from the weights at its start, puts them behind those that still wait, and applies as many as it made: update after
update, each with that gradient alone. At staleness 0 that is the synchronous sum, applied in the replicas' order. The
gradients that wait are part of the state, as a slot of each weight.
"""

from __future__ import annotations

import numpy as np

#: Of a weight's slot that holds its waiting gradients, [staleness, *shape], the oldest first.
SLOT = "pending"


def slot(name):
    """Name of the slot in which gradients of weight `name` wait."""
    return f"{name}/{SLOT}"


def slots(job, name, weight):
    """{slot name: array of nothing waiting} of one weight of `job`; nothing if no gradient ever waits."""
    if not job.staleness:
        return {}
    return {slot(name): np.zeros((job.staleness,) + np.shape(weight), np.asarray(weight).dtype)}


def empty(job, step):
    """How many of the updates of `step` have no gradient yet, because none was made so long ago."""
    return min(job.replicas, max(0, job.staleness - step * job.replicas))


def names(gradients):
    """{what a record calls it: gradient} of a step's updates, each a {weight: gradient}."""
    return {
        f"update {number}: {name}": value for number, update in enumerate(gradients) for name, value in update.items()
    }
