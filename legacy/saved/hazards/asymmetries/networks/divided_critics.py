"""Hazard of a critic that computes its outputs for real and for generated examples by different trained weights."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.asymmetries.networks.lockstep import lockstep
from legacy.saved.hazards.basics.directions import trained_by
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.signs.shared_goals import goals_of_outputs, sigmoid_entropies
from workloads.lifted.graph import TensorId

#: Numbers that make the names of a second copy's scopes and variables differ from those of the first.
_NUMBERS = re.compile(r"_\d+(?=/|$)")


def divided_critics(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds critics whose two outputs share a last weight, and add or multiply by others before it; one for all.

    A loss pushes the output for generated examples, which depend on weights that another loss trains, elsewhere than
    that for real ones. Names that differ in more than numbers tell of a purpose, as those of a normalization of its own
    for each kind of examples.
    """
    trained = trained_by(whole)
    if len({frozenset(names) for names in trained.values()}) < 2:
        return
    entropies = sigmoid_entropies(whole)
    for target, own in trained.items():
        makers = {name for names in trained.values() if not names & own for name in names}
        goals = {n: (w, goal) for n, (w, goal) in goals_of_outputs(whole, target, entropies).items() if w in own}
        made = {name for name in goals if whole.graph.ancestors([name], controls=False) & makers}
        for fake in sorted(made):
            for real in sorted(goals.keys() - made):
                weight, goal = goals[real]
                is_opposed = goals[fake][0] == weight and goals[fake][1] != goal
                pairs = _weights_apart(whole, real, fake, own) if is_opposed else []
                if pairs:
                    one, other = pairs[0]
                    yield Hazard(
                        "CRITIC_OF_TWO_NETWORKS",
                        fake,
                        f"{fake}, the output for generated examples, is computed with {other} where {real}, that for "
                        f"real ones, is with {one}; {target} trains both, and {weight} behind them: it can tell the "
                        "examples apart by these weights, whatever they are",
                        "build all layers of the critic once, those of normalization too; for parity keep both",
                    )
                    return


def _weights_apart(whole: WholeGraph, real: str, fake: str, own: Collection[str]) -> list[tuple[str, str]]:
    """Returns pairs of trained weights at one place of two outputs, sorted, if their names differ in numbers alone."""
    found = lockstep(whole, TensorId(real, 0), TensorId(fake, 0), second_is_made=True)
    if found is None or not all(name in own for pair in found.variables for name in pair):
        return []
    alike = all(_NUMBERS.sub("", one) == _NUMBERS.sub("", other) for one, other in found.variables)
    return sorted(found.variables) if alike else []
