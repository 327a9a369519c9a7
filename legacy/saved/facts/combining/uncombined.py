"""Sentences on gradients that a train op does not combine over the towers in a way that is recognised."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from workloads.lifted.plan import Phase
from workloads.support.wording import SEVERAL, listed


def uncombined_sentences(analysed: AnalysedStep, phase: Phase) -> Iterator[str]:
    """Yields a sentence on weights that single towers' gradients change, and on those combined in an unknown way.

    Args:
      analysed: the training step.
      phase: one of its train ops.

    Yields:
      the sentences.
    """
    towers = analysed.plan.towers
    kept = [combine for combine in phase.combine if combine.kind == "kept as written"]
    alone = {combine.weight for combine in kept if sum(map(bool, combine.parts)) == 1 and towers > 1}
    if alone:
        yield _of_single_towers(analysed, phase, list(dict.fromkeys(one.weight for one in kept if one.weight in alone)))
    others = [combine for combine in kept if combine.weight not in alone]
    odd = list(dict.fromkeys(combine.weight for combine in others if analysed.probe.weights(combine) is None))
    if odd:
        yield "combining not recognised, kept as written: " + listed(odd, SEVERAL)


def _of_single_towers(analysed: AnalysedStep, phase: Phase, names: list[str]) -> str:
    """Returns the sentence on weights that gradients of one tower each change, or of one and the same tower."""
    which = listed(names, SEVERAL)
    if analysed.accumulators.issuperset(names):
        return f"{phase.train_op}: each tower adds its own gradients to variables of its own: {which}"
    combined = {combine.weight for combine in phase.combine if combine.kind != "kept as written"}
    besides = " besides the combined ones" if combined.issuperset(names) else ""
    kept = [one for one in phase.combine if one.kind == "kept as written" and one.weight in names]
    owners = {tower for one in kept for tower, parts in enumerate(one.parts) if parts}
    if len(owners) == 1:
        owner = analysed.numbers.of(min(owners))
        return f"{phase.train_op}: gradients of tower {owner} alone are applied{besides} to {which}"
    return f"{phase.train_op}: towers apply their own gradients, uncombined{besides}, to {which}"
