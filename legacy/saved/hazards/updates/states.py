"""Hazards of what a step keeps: state that nothing reads, and two statistics that follow one value."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import is_read
from workloads.lifted.graph import TensorId
from workloads.support.wording import FEW, counted, listed

#: Names of variances; not of any variable, such as `Variable_1`.
_VARIANCE = re.compile("(?i)var(?!ia(?!nce)|iou|y)|std|sigma|mv$")
#: Ops that scale.
_SCALES = ("Mul", "RealDiv", "Div")


def state_never_read(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds arrays that a step sets to results of its data, and that nothing reads; one hazard for all."""
    graph = whole.graph
    kept: dict[str, str] = {}
    for name, variable in whole.writes.items():
        runs = name in whole.members and name in whole.data and graph.type(name) in op_types.SETS
        if runs and variable not in whole.trainable and not whole.is_scalar(variable):
            kept.setdefault(variable, name)
    unread = [
        name for name, write in kept.items() if not is_read(whole.graph, name) and not _follows_state(whole, write)
    ]
    if unread:
        yield Hazard(
            "STATE_NEVER_READ",
            kept[unread[0]],
            f"each step sets {counted(len(unread), 'variable')} ({listed(unread, FEW)}), and no op of the graph "
            "reads them: if they were to carry a state to the next step, it begins anew",
            "give the next step what was kept; for parity, leave them out",
        )


def _follows_state(whole: WholeGraph, write: str) -> bool:
    """Whether what an assignment keeps follows from other kept state alone, as a variance from a moving deviation."""
    graph, others = whole.graph, {name for name in whole.writes if name != write}
    behind = graph.ancestors([graph.inputs(write)[1].node], stop=others, controls=False)
    sources = [name for name in behind if op_types.is_source(graph.type(name)) or op_types.is_random(graph.type(name))]
    moved = {whole.writes[name] for name in others & whole.members}
    return not sources and bool(behind & (others | moved))


def variance_that_follows_the_mean(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a moving variance that is moved towards the same value as another statistic; one hazard for all."""
    followed: dict[TensorId, list[str]] = collections.defaultdict(list)
    for name, variable in whole.writes.items():
        if name in whole.data and variable not in whole.trainable and not whole.is_scalar(variable):
            value = _followed(whole, whole.graph.inputs(name)[1], variable)
            if value is not None:
                followed[value].append(variable)
    for value, variables in followed.items():
        spreads = [name for name in dict.fromkeys(variables) if _VARIANCE.search(_kind_of_statistic(name))]
        others = [name for name in dict.fromkeys(variables) if name not in spreads]
        if spreads and others:
            yield Hazard(
                "VARIANCE_FOLLOWS_MEAN",
                value.node,
                f"{spreads[0]} follows {value.node}, as {others[0]} does: one of both is not what its name says",
                "check the update; for parity, keep it: evaluation normalizes by what was kept",
            )
            return


def _kind_of_statistic(variable: str) -> str:
    """The part of a variable's name that says what it holds; for the slots of `zero_debias`, that of their average."""
    parts = variable.split("/")
    return parts[-2] if parts[-1] == "biased" and len(parts) > 1 else parts[-1]


def _followed(whole: WholeGraph, change: TensorId, variable: str) -> TensorId | None:
    """The tensor of data that a change of a variable scales and adds to it; None if that is not one tensor."""
    graph, todo, leaves = whole.graph, [change], set()
    while todo:
        tensor = graph.origin(todo.pop())
        kind = graph.type(tensor.node)
        if kind in _SCALES + op_types.SUMS_AND_DIFFERENCES:
            of_data = [before for before in graph.inputs(tensor.node) if before.node in whole.data]
            is_scaled = len(of_data) == 1 and (kind == "Mul" or of_data[0] == graph.inputs(tensor.node)[0])
            if kind in _SCALES and not is_scaled and of_data:
                return None  # such as the product of two deviations, by which a variance is computed as it runs
            todo += of_data
        elif tensor.node in whole.data:
            leaves.add(tensor)
    return leaves.pop() if len(leaves) == 1 else None
