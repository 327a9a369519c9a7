"""Hazards of summaries: those that show the results of one tower alone."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.support.wording import counted

#: Op types of summaries of a number.
SUMMARIES = ("ScalarSummary", "ScalarSummaryV2")


def reports_of_one_tower(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds summaries of one tower's results where no summary shows another tower's; only merged ones are written."""
    if whole.count < 2:
        return
    graph = whole.graph
    scalars = [name for name in graph.nodes if graph.type(name) in SUMMARIES]
    merges = [name for name in graph.nodes if graph.type(name) == "MergeSummary"]
    written = graph.ancestors(merges, controls=False) if merges else set(scalars)
    summaries = collections.defaultdict(list)
    for name in [name for name in scalars if name in written]:
        towers = whole.data_towers(name)
        if len(towers) > 1:
            return  # a summary of all towers' results is written too
        if towers:
            summaries[towers.pop()].append(name)
    if len(summaries) == 1:
        tower, names = next(iter(summaries.items()))
        yield Hazard(
            "REPORTED_BY_ONE_TOWER",
            names[0],
            f"{counted(len(names), 'summary shows', 'summaries show')} tower {tower} alone",
            "strategy.reduce the per-replica values before they are written",
        )
