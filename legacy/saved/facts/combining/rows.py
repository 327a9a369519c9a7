"""Rows of the ways in which a training step combines and clips the towers' gradients."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.combining.clipped import clipping_text, global_norm
from legacy.saved.facts.combining.data_divisors import factor_in_towers
from legacy.saved.facts.combining.further import further_combines
from legacy.saved.facts.combining.words import combination_text
from legacy.saved.graph import op_types
from legacy.saved.graph.additions import ALL_REDUCE
from workloads.lifted.plan import Combine, Phase, is_indices_label, weight_of_label

#: Most op types of a combination that are listed.
MOST_OPS = 6
#: Ops that compute nothing.
NO_WORK = {"Const", "Identity", "Placeholder", *op_types.VARIABLES}

#: Clipping by a global norm, and by that of some gradients of several groups.
GLOBAL, OWN = "by global norm", "by a global norm of these alone"
#: What gradients are that come out of the sums of other runs.
ADDED_UP = "as added up in other runs"


def combining_rows(analysed: AnalysedStep, all_reduced: Collection[str] = ()) -> list[dict[str, str]]:
    """Returns the ways in which gradients are combined and clipped, with the variables of each.

    Args:
      analysed: the training step.
      all_reduced: sums that the old graph computes by NCCL.
    """
    found: list[tuple[tuple[str, str, str, str], frozenset[str], str]] = []
    slots = {variable.name for variable in analysed.plan.variables if variable.role == "slot"}
    for phase in analysed.phases:
        for combine in [*phase.combine, *further_combines(analysed, phase)]:
            if weight_of_label(combine.weight) in slots:
                continue  # the same gradient on its way into a moment of rows
            kind = combination_text(analysed, phase, combine) + factor_in_towers(analysed, combine)
            ops = _combining_ops(analysed, combine, all_reduced)
            text = clipping_text(analysed, phase, combine)
            norm = global_norm(analysed, phase, combine) if GLOBAL in text else frozenset()
            found.append(((phase.train_op, kind, ops, text), norm, combine.weight))
        found += [(columns, frozenset(), weight) for weight, columns in _of_accumulated(analysed, phase)]
    norms: dict[tuple[str, str], set[frozenset[str]]] = collections.defaultdict(set)
    for (train_op, _, _, text), norm, _ in found:
        norms[train_op, text].add(norm)
    groups: dict[tuple[tuple[str, str, str, str], frozenset[str]], list[str]] = collections.OrderedDict()
    for (train_op, kind, ops, text), norm, weight in found:
        is_apart = _are_apart(norms[train_op, text])
        columns = (train_op, kind, ops, text.replace(GLOBAL, OWN) if is_apart else text)
        groups.setdefault((columns, norm if is_apart else frozenset()), []).append(weight)
    return [
        {
            "train op": train_op,
            "gradients": str(len([name for name in names if not is_indices_label(name)]) or len(names)),
            "are": kind,
            "by": ops,
            "clipped": clipping,
            "of": ", ".join(names),
        }
        for ((train_op, kind, ops, clipping), _), names in groups.items()
    ]


def _are_apart(norms: Collection[frozenset[str]]) -> bool:
    """Returns whether several norms have no gradient in common; towers may have gradients that others lack."""
    return len(norms) > 1 and all(norms) and sum(map(len, norms)) == len(frozenset().union(*norms))


def _of_accumulated(analysed: AnalysedStep, phase: Phase) -> Iterator[tuple[str, tuple[str, str, str, str]]]:
    """Yields (weight, columns of its row) of the updates that take gradients which other runs have added up."""
    combined = {weight_of_label(combine.weight) for combine in phase.combine}
    for effect in phase.effects:
        if effect.node not in analysed.rules or effect.writes[0] in combined or not effect.values:
            continue
        nodes = analysed.between([effect.gradient or effect.values[0]], sorted(analysed.accumulators))
        if not any(before.node in analysed.accumulators for name in nodes for before in analysed.graph.inputs(name)):
            continue
        clipping = analysed.clippings.text(nodes)
        kinds = sorted({analysed.graph.type(name) for name in nodes} - NO_WORK)
        key = (phase.train_op, ADDED_UP, listed_types(kinds), clipping or "no")
        yield effect.writes[0], key


def _combining_ops(analysed: AnalysedStep, combine: Combine, all_reduced: Collection[str]) -> str:
    starts = [name for tower in combine.parts for name in tower]
    nodes = analysed.between([combine.tensor], starts)
    kinds = {ALL_REDUCE if name in all_reduced else analysed.graph.type(name) for name in nodes}
    return listed_types(sorted(kinds - NO_WORK))


def listed_types(kinds: list[str]) -> str:
    """Returns some op types as a text, of which the first few stand for many."""
    return ", ".join(kinds[:MOST_OPS] + (["..."] if len(kinds) > MOST_OPS else [])) or "-"
