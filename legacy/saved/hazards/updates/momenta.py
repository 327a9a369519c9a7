"""Hazard of gradients that are averaged over steps by hand before an optimizer that has a momentum of its own."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import applied_gradient
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.kept_shares import kept_share
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted, listed

#: Of variables, so many are named.
MOST_NAMED = 3
#: Update rules that keep a moving average of gradients.
_RULES = ("Momentum", "KerasMomentum", "Adam", "AdaMax")


def momentum_twice(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds update rules with a momentum that take a moving average of gradients; one hazard for all."""
    averages = {
        name: kept for name in whole.writes if name in whole.members for kept in [_kept(whole, name)] if 0 < kept < 1
    }
    by_variable = {whole.writes[name]: name for name in averages}
    found: dict[str, tuple[str, str]] = {}
    for apply in whole.applies if averages else []:
        rule = op_types.rule_name(whole.graph.type(apply))
        if rule in _RULES and apply in whole.members:
            for name in linear_weights(whole, applied_gradient(whole, apply)):
                average = name if name in averages else by_variable.get(variable_read(whole.graph, name))
                if average is not None:
                    found.setdefault(whole.variable_of(apply) or apply, (average, rule))
    for average, rule in found.values():
        yield Hazard(
            "MOMENTUM_TWICE",
            average,
            f"gradients of {counted(len(found), 'variable')} ({listed(list(found), MOST_NAMED)}) have a momentum "
            f"twice: {average} keeps {averages[average]:.4g} of the last ones, and {rule} averages the result again",
            "leave out one of both; for parity keep both",
        )
        return


def _kept(whole: WholeGraph, name: str) -> float:
    """The part of its value that a variable keeps in a change that adds gradients to it; 0 for any other change."""
    if whole.writes[name] in whole.trainable:
        return 0.0
    kept = kept_share(whole, name)
    return kept.share if any(map(is_gradient_op, kept.weights)) else 0.0
