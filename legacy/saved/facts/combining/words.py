"""The kind of a combination in words: mean, sum or concatenation, with the meaning of its scale where it is known."""

from __future__ import annotations

import dataclasses
from typing import Tuple

from legacy.saved.analysis.reduction.multipliers import (
    constants_behind,
    factor_behind_rows,
    gradient_of_moments,
    multiplier_of_mean,
)
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.joint_losses import is_differentiated_by_each, is_no_sum
from legacy.saved.facts.combining.loss_factors import factors_of_losses, of_divided_losses
from legacy.saved.facts.combining.one_tower import one_tower_text
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiations
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Combine, Effect, Phase
from workloads.lifted.reduction_factors import sums_to_mean

#: Relative difference within which a scale is one over the number of towers.
SCALE_TOLERANCE = 1e-6
#: The end of a text whose scale may contain other constants than those of the combining.
OWN_CONSTANTS = ", the update's own constants included"


def combination_text(analysed: AnalysedStep, phase: Phase, combine: Combine) -> str:
    """Returns the kind of a combination with its scale, and the meaning of the scale where it is known.

    Args:
      analysed: the training step.
      phase: the train op's run.
      combine: how it combines the gradients of one variable.

    Returns:
      Such as "mean", or "sum, scaled by 0.1".
    """
    combine, own = _without_rate(analysed, phase, combine)
    if analysed.plan.towers == 1 and combine.kind != "kept as written":
        alone = f"one tower alone{_losses_text(analysed, combine)}"
        several = f"; in a port of several replicas: {_of_replicas(combine)}"
        return alone if analysed.plan.updated else alone + several  # such a step runs on one replica only
    multiplier, kept = _multiplier(analysed, combine), combine.kind == "kept as written"
    is_unscaled = not phase.shared_loss and abs((multiplier or 0) * phase.loss_scale - 1) < SCALE_TOLERANCE
    if multiplier is not None and not is_unscaled:
        return f"mean, times {multiplier:g}{own}{share_of_mean(analysed, phase, multiplier)}"
    if own and combine.scale != 1.0:
        return f"{combine.kind}, scaled by {combine.scale:g}{own}"
    if kept:
        return one_tower_text(analysed, combine) or _weighted(analysed, combine) or combine.kind
    if combine.scale != 1.0:
        return _scaled(analysed, phase, combine)
    return combine.kind + _of_losses(analysed, phase, combine)


def _of_replicas(combine: Combine) -> str:
    """The words for how replicas combine a gradient of one tower."""
    scale = "" if combine.scale == 1 or mean_of_parts(combine) else f", scaled by {combine.scale:g}"
    if combine.divided:
        return "mean" + scale if combine.kind == "sum" else f"{combine.kind}, divided by their number{scale}"
    return combine.kind + scale


def _weighted(analysed: AnalysedStep, combine: Combine) -> str:
    weights = analysed.probe.weights(combine)
    if not weights:
        return ""
    kind = "mean" if abs(sum(weights) - 1) < SCALE_TOLERANCE * len(weights) else "sum"
    return f"weighted {kind}: towers count {', '.join(f'{weight:g}' for weight in weights)}"


def _scaled(analysed: AnalysedStep, phase: Phase, combine: Combine) -> str:
    factor = combine.scale * analysed.plan.towers
    is_mean = combine.kind == "concat" and abs(factor - 1) < SCALE_TOLERANCE
    unscaled = not phase.shared_loss and abs(factor * phase.loss_scale - 1) < SCALE_TOLERANCE
    without = f"a mean, without the losses' factor of {phase.loss_scale:g}"
    meaning = mean_of_parts(combine) or ("a mean" if is_mean else without if unscaled else "")
    text = f": {meaning}" if meaning else share_of_mean(analysed, phase, factor)
    return f"{combine.kind}, scaled by {combine.scale:g}{text}"


def share_of_mean(analysed: AnalysedStep, phase: Phase, factor: float) -> str:
    """Finds what a multiple of the mean of gradients is where losses are scaled up, as where several runs are added up.

    Args:
      analysed: the training step.
      phase: the train op.
      factor: by which the mean of the towers' gradients is multiplied.

    Returns:
      The end of a text; "" unless each loss has the same constant factor above 1, and one whole number is left.
    """
    scales = set(factors_of_losses(analysed, phase)) if not phase.shared_loss else set()
    scale = scales.pop() if len(scales) == 1 else 1.0
    runs = 1.0 / (factor * scale)
    if scale <= 1.0 or round(runs) < 2 or abs(runs - round(runs)) > SCALE_TOLERANCE * runs:
        return ""
    return f": with the losses' factor of {scale:g}, {1.0 / round(runs):g} of a mean"


def _of_losses(analysed: AnalysedStep, phase: Phase, combine: Combine) -> str:
    """The words for the factor of the losses in a sum over towers; rows are added up behind the concatenation."""
    if is_differentiated_by_each(analysed.graph, analysed.plan.towers, phase):
        times = ": its gradient" if combine.kind == "mean" else f": {analysed.plan.towers} times its gradient"
        return f" of {analysed.plan.towers} gradients of the one loss of all towers{times}"
    if combine.kind not in ("sum", "concat"):
        return ""
    if not sums_to_mean(phase, analysed.plan.towers):
        return of_divided_losses(analysed, phase)
    if is_no_sum(analysed, phase):
        return " of a function of all towers' losses that is no sum"
    if analysed.may_be_its_own(phase):
        return f" of losses with a factor of {phase.loss_scale:g}"
    return " of losses that are divided by the towers: a mean"


def _multiplier(analysed: AnalysedStep, combine: Combine) -> float | None:
    """The constant by which a mean of gradients is multiplied; None of any other combination."""
    if combine.kind != "sum":
        return None
    return multiplier_of_mean(analysed.graph, analysed.imported, combine, analysed.plan.towers)


def is_summed(analysed: AnalysedStep, phase: Phase, combine: Combine) -> bool:
    """Tells a sum of gradients over towers from one that is divided at once, or where an update takes it.

    Args:
      analysed: the training step.
      phase: the train op.
      combine: how it combines the gradients of one variable.

    Returns:
      Whether they are summed, and not averaged.
    """
    is_sum = combine.kind == "sum" and _multiplier(analysed, combine) is None
    return is_sum and not _is_divided_later(analysed, phase, combine)


def _is_divided_later(analysed: AnalysedStep, phase: Phase, combine: Combine) -> bool:
    """Whether a sum becomes a mean by a constant behind a factor that is none, such as a rate."""
    effect = next((effect for effect in phase.effects if combine.weight in effect.writes[:1] and effect.values), None)
    if effect is None or combine.kind != "sum":
        return False
    end = effect.gradient or effect.values[0]
    scale = combine.scale * constants_behind(analysed.graph, analysed.imported, combine, end)
    return scale != combine.scale and abs(scale * analysed.plan.towers - 1) < SCALE_TOLERANCE


def _without_rate(analysed: AnalysedStep, phase: Phase, combine: Combine) -> Tuple[Combine, str]:
    """Leaves out the constant learning rate by which gradients are multiplied before a weight or velocity takes them.

    Returns:
      The combination, and the end of its text: an update by hand may have other constants in its scale.
    """
    effect = next((effect for effect in phase.effects if combine.weight in effect.writes[:1]), None)
    if effect is None or effect.writes[0] in analysed.accumulators:
        return combine, ""
    if _is_divided_later(analysed, phase, combine):
        return dataclasses.replace(combine, kind="mean", scale=1.0), ""
    rate, by_hand = _constant_rate(analysed, effect), not op_types.is_apply(effect.op)
    by_hand = by_hand and combine.tensor in effect.values
    gradient = effect.gradient or gradient_of_moments(analysed.graph, analysed.imported, phase, effect)
    if combine.kind == "concat" and gradient and not by_hand:
        behind = factor_behind_rows(analysed.graph, analysed.imported, combine, gradient)
        behind /= rate if rate and behind != 1.0 else 1.0  # rows are multiplied by the rate before they are subtracted
        return dataclasses.replace(combine, scale=_rounded(combine.scale * behind)), ""
    if rate and combine.kind == "concat" and "ScatterSub" in effect.op and by_hand:
        return dataclasses.replace(combine, scale=_rounded(combine.scale / rate)), ""
    if rate and rate > 0 and combine.kind == "sum":
        if abs((_multiplier(analysed, combine) or 0) - rate) < SCALE_TOLERANCE * rate:
            return dataclasses.replace(combine, kind="mean", scale=1.0), ""
        if abs(combine.scale - rate) < SCALE_TOLERANCE * rate:
            return dataclasses.replace(combine, scale=1.0), ""
    return combine, OWN_CONSTANTS if by_hand else ""


def _rounded(scale: float) -> float:
    """A scale whose last digits were lost in float32: a whole number where it is near one.

    >>> _rounded(1.0000001), _rounded(0.33333333)
    (1.0, 0.33333333)
    """
    return float(round(scale)) if abs(scale - round(scale)) < SCALE_TOLERANCE else scale


def _constant_rate(analysed: AnalysedStep, effect: Effect) -> float | None:
    """The constant learning rate of an update by hand, or of one that subtracts rows; None of any other update."""
    is_by_hand = effect.node in analysed.rules and not op_types.is_apply(effect.op)
    rate = analysed.learning_rate(effect) if is_by_hand else None
    constant = analysed.imported.constant(*parse_tensor_name(rate)) if rate else None
    return None if constant is None or constant.size != 1 else float(constant)


def _losses_text(analysed: AnalysedStep, combine: Combine) -> str:
    """The words for several gradient graphs behind a combined gradient: of several losses, or of one each time."""
    before = analysed.graph.ancestors([parse_tensor_name(combine.tensor).node], controls=False)
    losses = [loss for targets in differentiations(analysed.graph, before).values() for loss in targets]
    if len(set(losses)) > 1:
        return f", the gradients of {len(set(losses))} losses"
    return f", the gradient of one loss, computed {len(losses)} times" if len(losses) > 1 else ""


def mean_of_parts(combine: Combine) -> str:
    """Returns the words for a sum that is a mean of several gradients of each tower; "" for any other."""
    count = sum(map(len, combine.parts))
    is_mean = combine.kind == "sum" and count > len(combine.parts) and abs(combine.scale * count - 1) < SCALE_TOLERANCE
    return f"a mean of {count} gradients, {count / len(combine.parts):g} of each tower" if is_mean else ""
