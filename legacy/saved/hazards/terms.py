"""Hazard of terms that a loss contains more than once."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.analysis.losses import differentiated
from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.hazard import Hazard
from workloads.lifted.graph import Graph
from workloads.support.wording import counted, listed

#: Ops that add scalars, and ops that hand one on.
ADDITIONS, COPIES = ("Add", "AddV2", "AddN"), ("Identity", "Reshape", "Squeeze", "ExpandDims")
#: Terms that a hazard names.
MOST_NAMED = 3


def repeated_terms(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds terms that a sum which is minimized contains several times; of towers, those of the first such loss."""
    for target in differentiated(whole.graph, whole.reach):
        times = {term: count for term, count in _times_added(whole.graph, target).items() if count > 1}
        if times:
            names = listed(list(times), MOST_NAMED)
            most = max(times.values())
            yield Hazard(
                "TERM_REPEATED",
                target,
                f"{target} adds {counted(len(times), 'term')} {most} times: {names}",
                "a loss may be in two collections, or be added by a helper and its caller: add each once; for parity, "
                "as often as the old program did",
            )
            return


def _times_added(graph: Graph, target: str) -> dict[str, int]:
    """Returns {term: number of times that a sum contains it}; of a node that is no sum, itself, once."""
    times: collections.Counter[str] = collections.Counter({target: 1})
    terms: dict[str, int] = {}
    for name in reversed(graph.order(graph.ancestors([target], controls=False))):
        if name not in times:
            continue
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if graph.type(name) in ADDITIONS:
            added = inputs
        elif graph.type(name) in COPIES:
            added = inputs[:1]
        else:
            added = []
            terms[name] = times[name]
        for before in added:
            times[before] += times[name]
    return {name: count for name, count in terms.items() if graph.type(name) != "Const"}
