"""Hazard of a return that counts the next state's value where an episode has ended, and not where it goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.reinforcement.returns import terms_of_return
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Names of truths that are 1 at the end of an episode, perhaps with a kind of tensor behind them, and parts of names of
#: their opposites.
_ENDS = re.compile(
    r"(^|_)(done|terminal|terminated|finished|game_over|end)s?(_?(ph|pl|placeholder|input|batch|flag|t|\d+))*$"
)
_GOES_ON = re.compile(r"not|non|continu|alive|mask|(^|_)no_")
_PARTS = {"Split": 1, "SplitV": 0, "StridedSlice": 0, "Slice": 0, "Cast": 0, "Unpack": 0}


def values_of_ended_episodes(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds r + discount * done * value, of a truth whose name says that an episode has ended; one hazard for all."""
    for name in [name for name in whole.minimized_ops(*op_types.ADDITIONS) if not is_gradient_op(name)]:
        found = terms_of_return(whole, name)
        for factor in found.factors if found is not None else []:
            source = _fed(whole, factor)
            end = source.rpartition("/")[2].lower()
            if source and _ENDS.search(end) and not _GOES_ON.search(end):
                yield Hazard(
                    "VALUE_OF_ENDED",
                    name,
                    f"{name} adds the next state's value times {source} to a reward: it counts where an episode "
                    "has ended, and where the episode goes on the return is the reward alone",
                    f"multiply by 1 - {end}; for parity keep it",
                )
                return


def _fed(whole: WholeGraph, name: str) -> str:
    """The placeholder of which a node is a part as it is; "" of any other node."""
    graph = whole.graph
    while True:
        name = source_of_elements(graph, TensorId(name, 0)).node
        if graph.type(name) not in _PARTS:
            return name if graph.type(name).startswith("Placeholder") else ""
        name = graph.inputs(name)[_PARTS[graph.type(name)]].node
