"""Hazards of scaled losses: a loss scale that stays in the gradients, misses a penalty, or is in what is clipped."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.clipping import CLIPPING_OPS
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor, data_weight, linear_inputs, linear_weights
from legacy.saved.hazards.penalties.terms import find_penalties
from legacy.saved.runs.accumulation import dependent_on_gradients
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.plan import Combine, Effect, Phase
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted

#: The least factor on a loss that is taken for a scale against underflow; such scales are powers of two.
LEAST_SCALE = 8.0
#: Relative difference within which a factor is undone.
TOLERANCE = 1e-5


def loss_scale(whole: WholeGraph, phase: Phase) -> float:
    """Returns the power of two, 8 or more, that multiplies the data's terms of the first tower's loss; 1 for others.

    Args:
      whole: the graph.
      phase: a train op.

    Returns:
      The factor.
    """
    names = [parse_tensor_name(loss).node for loss in phase.losses[:1]]
    scale = max(
        (data_weight(whole, linear_weights(whole, name)) for name in names if name in whole.graph.nodes), default=1
    )
    return scale if scale >= LEAST_SCALE and math.log2(scale).is_integer() else 1.0


def is_unscaled(combine: Combine, scale: float, towers: int) -> bool:
    """Returns whether the gradients that an update takes are the mean of the towers' without the losses' scale.

    Args:
      combine: how the towers' gradients are combined.
      scale: of the losses; see `loss_scale`.
      towers: their number.

    Returns:
      The answer; no for losses without a scale.
    """
    factor = 1.0 / towers if combine.kind == "mean" else combine.scale
    return scale > 1 and abs(factor * scale * towers - 1) < TOLERANCE


def scaled_losses(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops whose losses have a scale that their gradients keep, or that does not multiply the penalties."""
    for phase in found.plan.phases:
        scale = loss_scale(whole, phase)
        if scale == 1:
            continue
        loss, combines = (
            parse_tensor_name(phase.losses[0]).node,
            [c for c in phase.combine if c.kind != "kept as written"],
        )
        unscaled = [is_unscaled(combine, scale, found.plan.towers) for combine in combines]
        shown = _shown_without(whole, found, loss, scale)
        if (
            not any(unscaled)
            and (_has_half_precision(whole, loss) or shown)
            and (_is_mean(combines, found.plan.towers) if combines else _adds_up(whole, phase))
            and not any(_divided(whole, effect, scale, found.plan.towers) for effect in phase.effects)
        ):
            reason = f"whereas {shown} shows it without" if shown else "as against underflow in float16"
            yield Hazard(
                "LOSS_SCALE_KEPT",
                loss,
                f"{loss} is multiplied by {scale:g}, {reason}, and {phase.train_op} takes its gradients undivided",
                f"divide the gradients by {scale:g} before the update; for parity keep them so",
            )
        twice = [combine for combine in combines if is_unscaled(combine, scale * scale, found.plan.towers)]
        if twice and len(twice) == len(combines):
            yield Hazard(
                "LOSS_SCALE_REMOVED_TWICE",
                parse_tensor_name(twice[0].tensor).node,
                f"{loss} is multiplied by {scale:g}, and the towers' gradients are divided by it twice: "
                f"{phase.train_op} takes 1/{scale:g} of their mean",
                f"divide by {scale:g} once; for parity keep the factor, or give it to the learning rate",
            )
        missed = _penalties_beside(whole, loss, scale) if all(unscaled) else []
        if unscaled and missed:
            yield Hazard(
                "PENALTY_DIVIDED_BY_LOSS_SCALE",
                missed[0],
                f"{counted(len(missed), 'penalty is', 'penalties are')} added to {loss} after its data's part was "
                f"multiplied by {scale:g}, and divided by it with the gradients: 1/{scale:g} of it counts",
                "add penalties before the loss is scaled; for parity, scale them by the same fraction",
            )


def _is_mean(combines: list[Combine], towers: int) -> bool:
    """Whether gradients are averaged or summed, without any further factor."""
    factors = {1.0 / towers if combine.kind == "mean" else combine.scale for combine in combines}
    return all(min(abs(factor - 1), abs(factor * towers - 1)) < TOLERANCE for factor in factors)


def _adds_up(whole: WholeGraph, phase: Phase) -> bool:
    """Whether the weights of the towers' gradients in each update add up to one, or to their number."""
    totals = []
    for effect in [effect for effect in phase.effects if effect.gradient]:
        gradient = parse_tensor_name(effect.gradient or "").node
        weights = linear_weights(whole, gradient) if gradient in whole.graph.nodes else {}
        towers: dict[int, float] = {}
        for name in [name for name in weights if is_gradient_op(name) and name in whole.labels]:
            towers[whole.labels[name]] = max(abs(weights[name]), towers.get(whole.labels[name], 0.0))
        totals.append(sum(towers.values()))
    return bool(totals) and all(min(abs(total - 1), abs(total - whole.count)) < TOLERANCE for total in totals)


def _shown_without(whole: WholeGraph, found: Analysis, loss: str, scale: float) -> str:
    """The summary that shows a loss without its scale, or the towers' mean; "" if none does.

    A mean over as many elements of an example as the scale is a sum over them, and no loss with a scale.
    """
    factor = constant_factor(whole, loss) if loss in whole.graph.nodes else None
    if factor is None or factor[1] != scale:
        return ""
    mean = whole.graph.origin(TensorId(factor[0], 0)).node
    shape = found.context.imported.shape(*whole.graph.inputs(mean)[0]) if whole.graph.type(mean) == "Mean" else None
    if shape and all(shape[1:]) and int(np.prod([size or 1 for size in shape[1:]])) == scale:
        return ""
    for name in whole.graph.of_types(*op_types.SCALAR_SUMMARIES):
        weights = linear_weights(whole, whole.graph.inputs(name)[1].node)
        weight = 0.0 if loss in weights else weights.get(factor[0], 0.0)
        if min(abs(weight - 1), abs(weight * whole.count - 1)) < TOLERANCE:
            return name
    return ""


def _has_half_precision(whole: WholeGraph, loss: str) -> bool:
    """Whether a loss is computed by way of float16."""
    nodes = whole.graph.ancestors([loss], controls=False)
    return any(whole.graph.nodes[name].attr["T"].type == tf.float16.as_datatype_enum for name in nodes)


def _penalties_beside(whole: WholeGraph, loss: str, scale: float) -> list[str]:
    """The penalties of a loss that its scale does not multiply."""
    graph = whole.graph
    inside = graph.ancestors([loss], controls=False)
    scaling = [name for name in inside if name in whole.data and (constant_factor(whole, name) or ("", 0))[1] == scale]
    scaled = graph.ancestors(scaling, controls=False)
    return [penalty.op for penalty in find_penalties(whole) if penalty.op in inside and penalty.op not in scaled]


def clipped_while_scaled(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds updates that take gradients which were divided by the losses' scale after they were clipped."""
    for phase in found.plan.phases:
        scale = loss_scale(whole, phase)
        of_gradients = dependent_on_gradients(whole.graph) if scale > 1 else set()
        for effect in phase.effects if scale > 1 else []:
            divided = _divided(whole, effect, scale, found.plan.towers)
            clips = [name for name in divided if _clips(whole, name, of_gradients)]
            if clips:
                yield Hazard(
                    "CLIPPED_WHILE_SCALED",
                    clips[0],
                    f"{clips[0]} clips gradients of a loss times {scale:g}, which are divided by {scale:g} afterwards: "
                    f"the threshold is {scale:g} times as low as it says",
                    "divide before clipping; for parity, give the threshold divided by the scale",
                )
                return


def _divided(whole: WholeGraph, effect: Effect, scale: float, towers: int) -> list[str]:
    """The nodes, as clipped gradients, of which an update's gradient is a linear function with 1 / scale as weight.

    Args:
      whole: the graph.
      effect: the update.
      scale: of the losses.
      towers: whose gradients may be averaged behind the division.
    """
    gradient = parse_tensor_name(effect.gradient or "").node
    weights = linear_weights(whole, gradient) if gradient in whole.graph.nodes else {}
    ends = {name: weight for name, weight in weights.items() if not list(linear_inputs(whole, name))}
    return [n for n, w in ends.items() if min(abs(w * scale - 1), abs(w * scale * towers - 1)) < TOLERANCE]


def _clips(whole: WholeGraph, name: str, of_gradients: Collection[str]) -> bool:
    """Whether a node is clipping's, of gradients, in each tower or of all."""
    graph = whole.graph
    before = [node for node in graph.ancestors([name], controls=False) if not is_gradient_op(node)]
    return not is_gradient_op(name) and any(
        graph.type(node) in CLIPPING_OPS and node in of_gradients for node in before
    )
