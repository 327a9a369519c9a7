"""Hazards of gradients that are kept between runs: never set to zero, or overwritten by each run."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.runs.accumulation import ADDITIONS, accumulators, sums_of_gradients
from workloads.support.wording import counted, listed, plural

#: Of variables, so many are named.
MOST_NAMED = 3


def kept_gradients(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sums of gradients that nothing sets back, and variables that each run sets to its own gradients."""
    kept = accumulators(whole.graph, whole.applies, whole.trainable)
    changes: dict[str, list[str]] = {variable: [] for variable in kept}
    for name, variable in whole.writes.items():
        changes.get(variable, []).append(name)
    sums = sums_of_gradients(whole.graph, kept)
    endless = [variable for variable in kept if variable in sums and set(changes[variable]) == set(kept[variable])]
    if endless:
        yield Hazard(
            "ACCUMULATOR_NEVER_RESET",
            kept[endless[0]][0],
            f"{counted(len(endless), 'sum')} of gradients ({listed(endless, MOST_NAMED)}): no op but "
            f"{plural(len(endless), 'its initializer sets it', 'their initializers set them')} to zero: unless these "
            "run after each update, every update takes the gradients of all runs before",
            "set the sums to zero after each update",
        )
    overwritten = [variable for variable in kept if not _adds(whole, changes[variable], variable)]
    overwritten = [variable for variable in overwritten if _is_divided(whole, variable)]
    if overwritten:
        yield Hazard(
            "ACCUMULATOR_OVERWRITTEN",
            kept[overwritten[0]][0],
            f"{counted(len(overwritten), 'variable keeps', 'variables keep')} gradients for another run's update, "
            f"which divides them ({listed(overwritten, MOST_NAMED)}), and every run assigns its own: only the last "
            "one's count",
            "add them up; for parity, divide the last batch's gradients",
        )


def _adds(whole: WholeGraph, writes: list[str], variable: str) -> bool:
    """Whether some assignment to a variable adds to it, or computes its value from it."""
    for name in writes:
        value = [tensor.node for tensor in whole.graph.inputs(name)[1:2]]
        if whole.graph.type(name).endswith(ADDITIONS) or variable in whole.graph.ancestors(value, controls=False):
            return True
    return False


def _is_divided(whole: WholeGraph, variable: str) -> bool:
    """Whether what follows from a variable is divided by a constant, or multiplied by one below 1."""
    for name in whole.graph.descendants([variable], controls=False) & whole.reach:
        numbers = [whole.value(tensor.node) for tensor in whole.graph.inputs(name)[:2]]
        if whole.graph.type(name) in ("RealDiv", "Div") and (numbers[1:] or [None])[0] not in (None, 1):
            return True
        if whole.graph.type(name) == "Mul" and any(number is not None and 0 < number < 1 for number in numbers):
            return True
    return False
