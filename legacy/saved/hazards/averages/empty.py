"""Hazard of a moving average of no variables, as of weights that are made only later."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard


def averages_of_nothing(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds moving averages that a train op runs, and that were made before there was a variable to average.

    `ExponentialMovingAverage.apply` gives the group of its updates the name of its scope, in which the decay is.
    """
    graph = whole.graph
    for name in graph.nodes:
        is_empty = graph.type(name) == "NoOp" and not graph.controls(name) and f"{name}/decay" in graph.nodes
        if is_empty and name in whole.members:
            yield Hazard(
                "AVERAGE_OF_NOTHING",
                name,
                f"the train op runs {name}, which averages no variable: it was given an empty list, as that of the "
                "trainable variables before the model makes them",
                "averages are made of the weights after the model; for parity leave them out",
            )
