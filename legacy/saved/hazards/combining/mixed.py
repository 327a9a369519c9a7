"""Variables whose gradients are summed over towers beside others' that are averaged."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from legacy.saved.analysis import updates_by_hand
from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.reduction.multipliers import factor_behind_rows, gradient_of_moments, multiplier_of_mean
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Combine, Effect, Phase, is_indices_label, weight_of_label
from workloads.support.wording import counted

#: Relative difference within which a scale is one, or one over the number of towers.
TOLERANCE = 1e-5


def mixed_combining(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds variables whose gradients are summed over towers beside others' that are averaged."""
    count = found.plan.towers
    for phase in found.plan.phases if count > 1 else []:
        rows = {entry.weight for entry in phase.combine if is_indices_label(entry.weight)}
        sparse = set(map(weight_of_label, rows))
        values = _of_weights(found, [entry for entry in phase.combine if entry.weight not in rows])
        scales = {entry.weight: _scale_of_sum(found, phase, entry) for entry in values}
        summed = [entry for entry in values if _is_summed(entry, scales[entry.weight], found.plan.batch)]
        averaged = [entry for entry in values if abs(scales[entry.weight] * count - 1) < TOLERANCE]
        rates = {entry.weight: _rate_by_hand(found, phase, entry) for entry in [*summed, *averaged]}
        known = {rates[entry.weight] for entry in averaged} | {None}
        summed = [entry for entry in summed if rates[entry.weight] in known]  # another rate may make up for the sum
        if not summed or not averaged:
            continue
        names = ", ".join(entry.weight for entry in summed[:3])
        others = counted(len(averaged), "other")
        factors = "".join(_factor_texts([scales[entry.weight] for entry in summed]))
        kind = "sparse" if all(entry.weight in sparse or entry.kind == "concat" for entry in summed) else ""
        yield Hazard(
            "SPARSE_GRADIENTS_SUMMED" if kind else "MIXED_COMBINING",
            parse_tensor_name(summed[0].tensor).node,
            f"{kind} gradients of {counted(len(summed), 'variable')} ({names}) are summed over {count} towers"
            f"{factors}, those of {others} are averaged".strip(),
            f"divide by {count} what the replicas gather, for a mean of all; for parity keep the sum",
        )


def _of_weights(found: Analysis, entries: Sequence[Combine]) -> list[Combine]:
    """The combinations of weights' gradients, or of a moment's, which takes the same rows, where a weight has none."""
    owners = {
        variable.name: variable.of for variable in found.plan.variables if variable.role == "slot" and variable.of
    }
    own = {entry.weight: entry for entry in entries if entry.weight not in owners}
    for entry in entries:
        owner = owners.get(entry.weight, entry.weight)
        own.setdefault(owner, dataclasses.replace(entry, weight=owner))
    return list(own.values())


def _factor_texts(scales: Sequence[float]) -> Iterator[str]:
    """Yields a clause for each factor on sums that is not 1.

    >>> list(_factor_texts([2.0, 2.0])), list(_factor_texts([1.0, 2.0, 1.0]))
    ([', times 2'], [', 1 of them times 2'])
    """
    for factor in sorted(set(scales)):
        count = scales.count(factor)
        if abs(factor - 1) >= TOLERANCE:
            yield f", times {factor:g}" if count == len(scales) else f", {count} of them times {factor:g}"


def _is_summed(entry: Combine, scale: float, batch: int | None) -> bool:
    """Whether an update takes the sum of the towers' gradients, or of rows the sum times a tower's number of examples.

    Another multiple may as well be one of the mean.
    """
    is_multiple = entry.kind == "concat" and batch is not None and abs(scale - batch) < TOLERANCE
    return abs(scale - 1) < TOLERANCE or is_multiple


def _scale_of_sum(found: Analysis, phase: Phase, entry: Combine) -> float:
    """The factor on the sum of the towers' gradients that an update takes; 0 where it is not known.

    An update that was written by hand takes gradients that were multiplied by the learning rate before, or by constants
    of its own.
    """
    if entry.kind == "kept as written":
        return 0.0
    if multiplier_of_mean(found.cut.graph, found.context.imported, entry, found.plan.towers) is not None:
        return 1.0 / found.plan.towers  # a mean, which a constant of the layer's multiplies
    scale = 1.0 / found.plan.towers if entry.kind == "mean" else entry.scale
    effect = _effect_of(phase, entry)
    if effect is not None and entry.kind == "concat":
        graph, imported = found.cut.graph, found.context.imported
        gradient = effect.gradient or gradient_of_moments(graph, imported, phase, effect)
        scale *= factor_behind_rows(graph, imported, entry, gradient) if gradient else 1.0
    if effect is None or op_types.is_apply(effect.op):
        return scale
    rate = _constant_rate(found, effect, entry)
    if rate is not None:
        return scale / rate
    return 0.0 if entry.tensor in effect.values and "Scatter" not in effect.op else scale


def _effect_of(phase: Phase, entry: Combine) -> Effect | None:
    """The update of the weight whose gradients are combined."""
    return next((effect for effect in phase.effects if entry.weight in effect.writes[:1]), None)


def _rate_by_hand(found: Analysis, phase: Phase, entry: Combine) -> float | None:
    """The constant rate in combined gradients that an update by hand takes; None for other updates."""
    effect = _effect_of(phase, entry)
    by_hand = effect is not None and not op_types.is_apply(effect.op) and "Scatter" not in effect.op
    return _constant_rate(found, effect, entry) if effect is not None and by_hand else None


def _constant_rate(found: Analysis, effect: Effect, entry: Combine) -> float | None:
    """The constant rate that is a factor in what an update adds or subtracts already; None if there is none."""
    named = updates_by_hand.learning_rate(found.context, effect)  # other optimizers of the step may have other ones
    rate = _constant_number(found, named) if named else None
    if not named or not rate:
        return None
    graph, parts = found.cut.graph, {parse_tensor_name(part).node for own in entry.parts for part in own}
    end = parse_tensor_name(effect.gradient or entry.tensor).node
    between = graph.ancestors([end], stop=parts, controls=False)
    return rate if parse_tensor_name(named).node in between else None


def _constant_number(found: Analysis, tensor: str) -> float | None:
    """The number that a tensor always is; None for any other tensor."""
    value = found.context.imported.constant(*parse_tensor_name(tensor))
    return float(value) if value is not None and np.ndim(value) == 0 else None
