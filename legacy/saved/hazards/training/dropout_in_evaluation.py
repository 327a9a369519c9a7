"""Hazard of an accuracy whose own pass drops units, as where a network is built again without a switch for dropout."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator, Sequence

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.dropout import kept_share
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops by which classes come from an argmax to their comparison with the labels.
_PASSES = (*op_types.COPIES, "Reshape", "Squeeze")


def dropout_in_evaluation(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds an accuracy of a pass that no loss depends on, with the tower's constant dropout; one hazard for all.

    The pass drops as often as the one that trains, so that it is one pass, and no mean of several; and a number of the
    graph says how much it drops, so that no run can turn that off.
    """
    graph = whole.graph
    decisions = [name for name in graph.of_types("Floor", "GreaterEqual") if _always_drops(whole, name)]
    trained: dict[int | None, set[str]] = collections.defaultdict(set)
    for name in decisions:
        if name in whole.minimized:
            trained[whole.labels.get(name)].add(name)
    others = set(decisions) - whole.minimized
    for name in graph.of_types("Equal") if others and trained else ():
        if name in whole.minimized or is_gradient_op(name):
            continue
        dropped = _dropped_of_classes(whole, name, others)
        towers = {whole.labels.get(decision) for decision in dropped}
        if len(towers) == 1 and len(dropped) == len(trained[towers.pop()]):
            yield Hazard(
                "DROPOUT_IN_EVALUATION",
                name,
                f"{name} compares classes with labels, and the pass that it takes them of drops units, as by "
                f"{dropped[0]}: no loss depends on that pass, so that it only evaluates, with a part of the network",
                "training=False in the pass that evaluates",
            )
            return


def _always_drops(whole: WholeGraph, name: str) -> bool:
    """Whether a node decides by a constant share what dropout keeps, and not in a branch or a loop."""
    kept = kept_share(whole, name)
    share = None if kept is None else whole.value(kept[0].node)
    if share is None or not 0 < share < 1:
        return False
    before = whole.graph.ancestors([name])  # in a branch of constants, the pivot is a control input alone
    return not any(whole.graph.type(node) in ("Switch", "Enter") for node in before)


def _dropped_of_classes(whole: WholeGraph, equal: str, decisions: Collection[str]) -> Sequence[str]:
    """Returns the decisions of dropout behind the classes that an op compares with data; none for another one."""
    graph = whole.graph
    found = []
    for tensor in graph.inputs(equal):
        name = tensor.node
        while graph.type(name) in _PASSES:
            name = graph.inputs(name)[0].node
        before = graph.ancestors([name], controls=False)
        weights = before & whole.trainable
        if graph.type(name) == "ArgMax" and weights and weights <= whole.minimized:
            found.append(sorted(before & set(decisions)))
        elif weights:
            return []
    return found[0] if len(found) == 1 else []
