"""Hazard of weights whose squares a loss contains twice, as by a regularizer and by a sum over all weights."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.penalties.terms import Penalty, find_penalties
from workloads.support.wording import FEW, counted, listed

#: The op types of a sum of squares of weights, of one or of several, and of multiples of it.
_OF_SQUARES = {"L2Loss", "Square", "Sum", "Mul", "ReadVariableOp", *op_types.ADDITIONS}
_SQUARES = {"L2Loss", "Square"}


def squared_twice(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds weights of which one tower's loss adds the squares twice, with positive weights; one hazard for all.

    One weight alone, as of a layer that is to decay more than others, is left alone.
    """
    penalties = [one for one in find_penalties(whole) if _is_of_squares(whole, one)]
    for target in whole.targets if len(penalties) > 1 else []:
        weights = linear_weights(whole, target)
        added: dict[tuple[int | None, str], list[str]] = collections.defaultdict(list)
        for penalty in [one for one in penalties if weights.get(one.op, 0.0) > 0]:
            for variable in penalty.variables:
                added[whole.labels.get(penalty.op), variable].append(penalty.op)
        twice = {variable: ops for (_, variable), ops in added.items() if len(ops) > 1}
        if len(twice) > 1 or len(twice) == len(added) == 1:
            variable, ops = next(iter(twice.items()))
            yield Hazard(
                "WEIGHT_DECAYED_TWICE",
                ops[1],
                f"{target} contains the squares of {counted(len(twice), 'weight')} "
                f"({listed(list(twice), FEW)}) twice, such as those of {variable} by {ops[0]} and {ops[1]}",
                "leave one of them out; for parity keep both",
            )
            return


def _is_of_squares(whole: WholeGraph, penalty: Penalty) -> bool:
    """Whether a term is a sum of squares of weights, also of their differences from a constant 0."""
    kinds = set(penalty.kind)
    if not _SQUARES & kinds or not kinds <= {*_OF_SQUARES, "Sub"}:
        return False
    before = whole.graph.ancestors([penalty.op], controls=False) if "Sub" in kinds else []
    differences = [whole.graph.inputs(name) for name in before if whole.graph.type(name) == "Sub"]
    return all(0 in [whole.value(tensor.node) for tensor in inputs] for inputs in differences)
