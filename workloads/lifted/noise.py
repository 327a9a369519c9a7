"""Keys of a lifted program's noise: one stream for each random op of each replica."""

from __future__ import annotations

from workloads import keys


def key_of(seed, replica, name):
    """int32 key of the noise called `name` on a replica; `replica` is None for noise that is drawn once for all."""
    return keys.noise_key(seed, "all" if replica is None else replica, name)
