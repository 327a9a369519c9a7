"""Keys of a lifted program's noise: one stream for each random op of each replica."""

from __future__ import annotations

from workloads import keys


def key_of(seed, replica, name):
    """int32 key of the noise called `name` on a replica; `replica` is None for noise that is drawn once for all."""
    return keys.noise_key(seed, "all" if replica is None else replica, name)


def drawn_nodes(plan):
    """Random nodes whose numbers can be given instead of drawn: those outside of loops."""
    return [node for entry in plan.noise + plan.common_noise if not entry.in_loop for node in entry.nodes]
