"""Hazards of summaries: those that show the results of one tower alone."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.support.wording import counted

#: Ops that count right answers, as an accuracy does.
_COUNTS = ("Equal", "InTopK", "InTopKV2")


def reports_of_one_tower(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds summaries of one tower's results where no summary shows another tower's; only merged ones are written.

    Beside a summary of all towers, an accuracy of one tower is found, where no other accuracy is shown.
    """
    if whole.count < 2:
        return
    graph = whole.graph
    scalars = [name for name in graph.nodes if graph.type(name) in op_types.SCALAR_SUMMARIES]
    merges = [name for name in graph.nodes if graph.type(name) == "MergeSummary"]
    written = graph.ancestors(merges, controls=False) if merges else set(scalars)
    summaries = collections.defaultdict(list)
    of_all = []
    for name in [name for name in scalars if name in written]:
        towers = whole.data_towers(name)
        if len(towers) > 1:
            of_all.append(name)
        elif towers:
            summaries[towers.pop()].append(name)
    if len(summaries) == 1:
        tower, names = next(iter(summaries.items()))
        if of_all:
            names = [] if any(_is_accuracy(whole, name) for name in of_all) else names
            names = [name for name in names if _is_accuracy(whole, name)]
        which = f": {names[0]}, an accuracy, beside summaries of all towers" if of_all and names else ""
        if names:
            yield Hazard(
                "REPORTED_BY_ONE_TOWER",
                names[0],
                f"{counted(len(names), 'summary shows', 'summaries show')} tower {tower} alone{which}",
                "strategy.reduce the per-replica values before they are written",
            )


def _is_accuracy(whole: WholeGraph, name: str) -> bool:
    """Whether a summary counts, behind what is minimized, in how many examples a prediction is equal to a label."""
    before = whole.graph.ancestors([name], controls=False) - whole.minimized
    return any(whole.graph.type(node) in _COUNTS and node in whole.data for node in before)
