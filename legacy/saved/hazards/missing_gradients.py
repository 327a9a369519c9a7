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
    """Returns the rest of a sentence on variables that towers use, but only before a StopGradient.

    Args:
      whole: the graph.
      variables: names of the variables.
      towers: the towers that have no gradient of them.

    Returns:
      The text; "" if no tower stops a gradient.
    """
    targets = whole.targets
    for tower in sorted(towers):
        ends = [name for name in targets if whole.labels.get(name) == tower]
        before = whole.graph.ancestors(ends, controls=False)
        stops = [name for name in whole.graph.nodes if name in before and whole.graph.type(name) == "StopGradient"]
        passed = whole.graph.ancestors(ends, stops, controls=False)
        stopped = [name for name in variables if name in before and name not in passed]
        if stopped:
            of = "those" if len(stopped) == len(variables) else f"those of {counted(len(stopped), 'variable')}"
            return f"; {listed_towers([tower])} stops {of} at {stops[0]}"
    return ""
