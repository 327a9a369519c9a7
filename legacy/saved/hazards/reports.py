"""Hazards of summaries: those that show the results of one tower alone."""

from __future__ import annotations

import collections
import functools
from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from workloads.support.wording import counted

#: Ops that count right answers, as an accuracy does.
_COUNTS = ("Equal", "InTopK", "InTopKV2")


def reports_of_one_tower(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds summaries of one tower's results where no summary shows another tower's; only merged ones are written.

    Beside a summary of all towers, an accuracy or loss of one tower is found, where no other one is shown.
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
        which = ""
        if of_all:
            kind, names = _alone(whole, names, of_all)
            which = f": {names[0]}, {kind}, beside summaries of all towers" if names else ""
        if names:
            yield Hazard(
                "REPORTED_BY_ONE_TOWER",
                names[0],
                f"{counted(len(names), 'summary shows', 'summaries show')} tower {tower} alone{which}",
                "strategy.reduce the per-replica values before they are written",
            )


def _alone(whole: WholeGraph, names: list[str], of_all: list[str]) -> tuple[str, list[str]]:
    """The (kind, summaries) of one tower, of accuracies or losses, of which no summary of all towers has the like.

    Args:
      whole: the graph.
      names: summaries of one tower.
      of_all: summaries of all towers.
    """
    terms = {term for target in whole.targets for term in linear_weights(whole, target)}
    is_loss = functools.partial(_is_loss, terms=terms)
    for kind, is_kind in (("an accuracy", _is_accuracy), ("a loss", is_loss)):
        found = [name for name in names if is_kind(whole, name)]
        if found and not any(is_kind(whole, name) for name in of_all):
            return kind, found
    return "", []


def _is_accuracy(whole: WholeGraph, name: str) -> bool:
    """Whether a summary counts, behind what is minimized, in how many examples a prediction is equal to a label."""
    before = whole.graph.ancestors([name], controls=False) - whole.minimized
    return any(whole.graph.type(node) in _COUNTS and node in whole.data for node in before)


def _is_loss(whole: WholeGraph, name: str, terms: Collection[str]) -> bool:
    """Whether a summary shows what is minimized, a term of it, or a linear function of it, as a mean of towers.

    Args:
      whole: the graph.
      name: of the summary.
      terms: what is minimized, and its terms.
    """
    value = whole.graph.origin(whole.graph.inputs(name)[1]).node
    return value in terms or not linear_weights(whole, value).keys().isdisjoint(whole.targets)
