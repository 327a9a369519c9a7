"""Values that weights make: the nodes that depend on what a program trains."""

from __future__ import annotations

import functools

from legacy.saved.facts.basics.whole_graph import WholeGraph


@functools.lru_cache(maxsize=2)
def made_by_weights(whole: WholeGraph) -> frozenset[str]:
    """Returns the nodes that are computed from trained variables, these included."""
    trained = whole.trainable & set(whole.graph.nodes)
    return frozenset(whole.graph.descendants(trained, controls=False) | trained)
