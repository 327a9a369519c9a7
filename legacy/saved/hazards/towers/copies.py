"""Hazards of copies of a model: that begin with other numbers, or that the train op does not set."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.copies import copies_of_one_model, masters_of_copies
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.support.wording import counted


def copies_that_begin_apart(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers that train copies of one model with equal updates, and begin with other random numbers.

    Assignments of one tower's values to another's, in any run, and equal seeds make them equal. So may a program that
    feeds values to assignments, as of pretrained weights: then it is not known.
    """
    owners = copies_of_one_model(whole)
    draws: dict[int, collections.Counter[tuple[int, int]]] = collections.defaultdict(collections.Counter)
    first: dict[int, str] = {}
    for variable, tower in owners.items():
        seeds, taken = _initial_draws(whole, variable)
        if seeds and _is_fed(whole, variable):
            continue
        if any(owners.get(other, tower) != tower for other in taken):
            return
        draws[tower].update(seeds)
        if seeds:
            first.setdefault(tower, variable)
    towers = sorted(first)
    if len(towers) < 2 or _are_equal([draws[tower] for tower in towers]):
        return
    yield Hazard(
        "COPIES_BEGIN_APART",
        first[towers[1]],
        "each tower trains a copy of the model with all towers' gradients, and each copy is initialized with random "
        f"numbers of its own, such as {first[towers[0]]} and {first[towers[1]]}: no op makes the copies equal, so "
        "they stay different",
        "mirrored variables begin equal; for parity, keep each tower's values of the checkpoint",
    )


def _are_equal(draws: Sequence[collections.Counter[tuple[int, int]]]) -> bool:
    """Whether the towers' initializers have the same seeds, and each has one."""
    return all(each == draws[0] and (0, 0) not in each for each in draws)


def _is_fed(whole: WholeGraph, variable: str) -> bool:
    """Whether an assignment outside of the step, which is no initializer, sets a variable to what a program feeds."""
    setters = [name for name, changed in whole.writes.items() if changed == variable and name not in whole.members]
    assigned = [whole.graph.inputs(name)[1].node for name in setters if whole.graph.type(name) in op_types.SETS]
    return any(whole.graph.type(name) == "Placeholder" for name in whole.graph.ancestors(assigned, controls=False))


def _initial_draws(whole: WholeGraph, variable: str) -> tuple[list[tuple[int, int]], set[str]]:
    """The seeds of the random ops that a variable's initializer takes, and the variables that it is ever set from."""
    graph = whole.graph
    setters = [use.node for use in graph.users(variable) if use.position == 0 and graph.type(use.node) in op_types.SETS]
    own = [name for name in setters if name not in whole.writes]
    others = [name for name in setters if name not in whole.members]
    before = graph.ancestors([graph.inputs(name)[1].node for name in own], controls=False)
    random = [graph.nodes[name].attr for name in before if op_types.is_random(graph.type(name))]
    taken = graph.ancestors([graph.inputs(name)[1].node for name in others], controls=False)
    return [(each["seed"].i, each["seed2"].i) for each in random], taken & whole.trainable


def copies_that_are_not_set(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses of copies of the trained variables, which only another run sets to their values."""
    masters = masters_of_copies(whole)
    changed = {variable for name, variable in whole.writes.items() if name in whole.members}
    trained = {whole.variable_of(name) for name in whole.applies if name in whole.members} - whole.minimized
    stale = [c for c, master in masters.items() if master in trained and c in whole.minimized and c not in changed]
    setters = {variable: name for name, variable in whole.writes.items() if variable in stale}
    if stale:
        ends = [name for name in whole.graph.descendants(setters.values()) if whole.graph.type(name) == "NoOp"]
        runs = sorted(name for name in ends if not whole.graph.after(name) and not whole.graph.users(name))
        setter = (runs or list(setters.values()))[0]
        yield Hazard(
            "COPIES_NOT_SET",
            stale[0],
            f"the loss is computed from {counted(len(stale), 'copy', 'copies')} of the variables that are trained, "
            f"such as {stale[0]} of {masters[stale[0]]}, and the train op does not run what sets them "
            f"({setter}): its gradients are of old weights, unless the program runs {setter} before each step",
            "compute from the trained variables; if the program ran that op in turn, name it in --train_op, too",
        )
