"""Why some towers have no gradient of a variable, and what share of the others' an update takes nevertheless."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import listed_towers
from legacy.saved.hazards.basics.linear_weights import linear_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted

#: Relative difference within which a factor is one over the number of towers.
TOLERANCE = 1e-5


def divided_text(whole: WholeGraph, applies: Sequence[str]) -> str:
    """Returns the rest of a sentence on updates that take one over all towers of the gradients that some towers have.

    Args:
      whole: the graph.
      applies: the update ops.

    Returns:
      The text; "" if they do not all divide by the number of towers.
    """
    divided = all(_is_divided(whole, apply) for apply in applies)
    return f", divided by all {whole.count} towers" if divided else ""


def _is_divided(whole: WholeGraph, apply: str) -> bool:
    """Whether an update takes gradients times one over the number of towers."""
    weights = [linear_weights(whole, before.node) for before in whole.graph.inputs(apply)[1:]]
    gradients = [abs(weight) for found in weights for name, weight in found.items() if is_gradient_op(name)]
    return bool(gradients) and abs(max(gradients) * whole.count - 1) < TOLERANCE


def stopped_text(whole: WholeGraph, variables: Collection[str], towers: Collection[int]) -> str:
    """Returns the rest of a sentence on variables that towers use, but only before a StopGradient that others lack.

    Args:
      whole: the graph.
      variables: names of the variables.
      towers: the towers that have no gradient of them.

    Returns:
      The text; "" if no tower stops a gradient, or if one that has the gradient stops it in as many places besides.
    """
    others = [len(_stops(whole, variables, tower)) for tower in whole.towers() if tower not in towers]
    for tower in sorted(towers):
        ends, stops = _ends(whole, tower), _stops(whole, variables, tower)
        before, passed = whole.graph.ancestors(ends, controls=False), whole.graph.ancestors(ends, stops, controls=False)
        stopped = [name for name in variables if name in before and name not in passed]
        if stopped and len(stops) > max(others, default=0):
            of = "those" if len(stopped) == len(variables) else f"those of {counted(len(stopped), 'variable')}"
            return f"; {listed_towers([tower])} stops {of} at {stops[0]}"
    return ""


def _ends(whole: WholeGraph, tower: int) -> list[str]:
    """The nodes of a tower that are minimized."""
    return [name for name in whole.targets if whole.labels.get(name) == tower]


def _stops(whole: WholeGraph, variables: Collection[str], tower: int) -> list[str]:
    """The StopGradient ops between some variables and what is minimized of a tower, in the order of the graph."""
    graph = whole.graph
    between = graph.ancestors(_ends(whole, tower), controls=False) & graph.descendants(set(variables), controls=False)
    return [name for name in graph.of_types("StopGradient") if name in between]
