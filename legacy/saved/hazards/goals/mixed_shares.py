"""Hazard of examples, or labels, that are mixed with others by shares that do not add up to 1."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.data.augmentation import in_other_order, share_and_value


def shares_that_do_not_add_up(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds r x + r p(x) of random numbers r, where p(x) has the rows of x in another order; one hazard for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Add", "AddV2") if name in whole.data]:
        (first, is_first, value), (second, is_second, other) = (share_and_value(whole, t) for t in graph.inputs(name))
        if not first or first != second or is_first != is_second or value is None or other is None:
            continue
        if in_other_order(whole, value) == other or in_other_order(whole, other) == value:
            yield Hazard(
                "SHARES_DO_NOT_ADD_UP",
                name,
                f"{name} adds a tensor and its rows in another order, both times {'' if is_first else '1 - '}{first}: "
                "the shares of an example and of its partner do not add up to 1",
                "r * x + (1 - r) * partner; for parity keep it",
            )
            return
