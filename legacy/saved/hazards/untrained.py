"""Hazard of trainable variables that are never trained, since the loss does not depend on them."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.losses import differentiated
from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.hazard import Hazard
from workloads.support.wording import counted, listed

#: Of variables, so many are named.
MOST_NAMED = 3


def variables_without_gradient(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds trainable variables that no loss depends on and nothing changes.

    Weights that a program leaves as they are, such as a trained network before the layers that it adds, are in the
    forward pass of its loss; those that it copies from others, such as a target network, are assigned.
    """
    minimized = differentiated(whole.graph, whole.reach | whole.members)
    if not whole.applies or not minimized:
        return
    used = whole.graph.ancestors(minimized, controls=False) | whole.reach
    changed = set(whole.writes.values())
    named = [name for name in whole.collections.get("trainable_variables", []) if name in whole.graph.nodes]
    lost = [name for name in dict.fromkeys(named) if name not in used and name not in changed]
    if lost:
        names = listed(lost, MOST_NAMED)
        yield Hazard(
            "VARIABLES_WITHOUT_GRADIENT",
            lost[0],
            f"no gradient reaches {counted(len(lost), 'trainable variable')} ({names}): no loss depends on them, and "
            "nothing changes them",
            "a port that applies gradients of all trainable variables gets None for these: leave them out, or let the "
            "loss depend on them",
        )
