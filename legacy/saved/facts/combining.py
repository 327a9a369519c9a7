"""Facts of how a training step combines and clips the towers' gradients."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Iterator

from legacy.saved.analysis.reduction.multipliers import multiplier_of_mean
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.clipping import CLIPPING_SCOPES
from legacy.saved.facts.further_combining import further_combines
from legacy.saved.facts.loss_factors import factors_of_losses, of_all_examples, of_divided_losses
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiations
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Combine, Effect, Phase, is_indices_label, weight_of_label
from workloads.lifted.tensors.gradient_names import GRADIENTS, is_gradient_op
from workloads.support.wording import listed

#: Relative difference within which a scale is one over the number of towers.
SCALE_TOLERANCE = 1e-6
#: Most op types of a combination that are listed.
MOST_OPS = 6
#: Most variables that a sentence lists.
MOST_LISTED = 6
#: Ops that compute nothing.
NO_WORK = {"Const", "Identity", "Placeholder", *op_types.VARIABLES}
#: Ops that make rows of a table a dense gradient, which changes no number of it.
MADE_DENSE = {"UnsortedSegmentSum", "StridedSlice", "Cast"}
#: Most nodes between a tower's clipping and the end of its gradient.
CLIP_DEPTH = 6


def combining_rows(analysed: AnalysedStep) -> list[dict[str, str]]:
    """The ways in which gradients are combined and clipped, with the variables of each."""
    groups: dict[tuple[str, ...], list[str]] = collections.OrderedDict()
    slots = {variable.name for variable in analysed.plan.variables if variable.role == "slot"}
    for phase in analysed.phases:
        for combine in [*phase.combine, *further_combines(analysed, phase)]:
            if weight_of_label(combine.weight) in slots:
                continue  # the same gradient on its way into a moment of rows
            kind = _combining_text(analysed, phase, combine)
            key = (phase.train_op, kind, _combining_ops(analysed, combine), _clipping(analysed, phase, combine))
            groups.setdefault(key, []).append(combine.weight)
        for weight, columns in _of_accumulated(analysed, phase):
            groups.setdefault(columns, []).append(weight)
    return [
        {
            "train op": train_op,
            "gradients": str(len([name for name in names if not is_indices_label(name)]) or len(names)),
            "are": kind,
            "by": ops,
            "clipped": clipping,
            "of": ", ".join(names),
        }
        for (train_op, kind, ops, clipping), names in groups.items()
    ]


def _of_accumulated(analysed: AnalysedStep, phase: Phase) -> Iterator[tuple[str, tuple[str, ...]]]:
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
        key = (phase.train_op, "as added up in other runs", _listed(kinds), clipping or "no")
        yield effect.writes[0], key


def _combining_text(analysed: AnalysedStep, phase: Phase, combine: Combine) -> str:
    """The kind of a combination with its scale, and the meaning of the scale where it is known."""
    effect = next((effect for effect in phase.effects if combine.weight in effect.writes[:1]), None)
    is_kept = effect is not None and effect.writes[0] in analysed.accumulators
    by_hand = (
        effect is not None and not is_kept and not op_types.is_apply(effect.op) and combine.tensor in effect.values
    )
    own = ", the update's own constants included" if by_hand else ""
    rate = None if effect is None or is_kept else _constant_rate(analysed, effect)
    combine = _without_rate(analysed, combine, rate) if rate else combine
    multiplier = _multiplier(analysed, combine)
    is_unscaled = not phase.shared_loss and abs((multiplier or 0) * phase.loss_scale - 1) < SCALE_TOLERANCE
    if multiplier is not None and not is_unscaled:
        return f"mean, times {multiplier:g}{own}"
    if rate and by_hand and effect is not None and "ScatterSub" in effect.op and combine.kind == "concat":
        combine = dataclasses.replace(combine, scale=round(combine.scale / rate, 6))
    elif by_hand and combine.scale != 1.0:
        return f"{combine.kind}, scaled by {combine.scale:g}{own}"
    alone = [tower for tower, names in enumerate(combine.parts) if names]
    if combine.kind == "kept as written" and len(alone) == 1 and analysed.plan.towers > 1:
        return f"not combined: tower {alone[0]}'s alone"
    weights = analysed.probe.weights(combine) if combine.kind == "kept as written" else None
    if weights:
        kind = "mean" if abs(sum(weights) - 1) < SCALE_TOLERANCE * len(weights) else "sum"
        return f"weighted {kind}: towers count {', '.join(f'{weight:g}' for weight in weights)}"
    if combine.scale != 1.0:
        factor = combine.scale * analysed.plan.towers
        is_mean = combine.kind == "concat" and abs(factor - 1) < SCALE_TOLERANCE
        unscaled = not phase.shared_loss and abs(factor * phase.loss_scale - 1) < SCALE_TOLERANCE
        without = f"a mean, without the losses' factor of {phase.loss_scale:g}"
        meaning = _mean_of_parts(combine) or ("a mean" if is_mean else without if unscaled else "")
        return f"{combine.kind}, scaled by {combine.scale:g}" + (f": {meaning}" if meaning else "")
    towers = analysed.plan.towers
    if towers == 1 and combine.kind != "kept as written":
        losses = _losses_of(analysed, combine)
        of_losses = f", the gradients of {losses} losses" if losses > 1 else ""
        return f"one tower alone{of_losses}; in a port of several replicas: {combine.kind}"
    adds = combine.kind in ("sum", "concat")  # rows are added up behind the concatenation
    is_mean = adds and towers > 1 and abs(phase.loss_scale * towers - 1) < SCALE_TOLERANCE
    if is_mean and analysed.may_be_its_own(phase):
        return f"{combine.kind} of losses with a factor of {phase.loss_scale:g}"
    if is_mean:
        return f"{combine.kind} of losses that are divided by the towers: a mean"
    return combine.kind + (of_divided_losses(analysed, phase) if adds and towers > 1 else "")


def _multiplier(analysed: AnalysedStep, combine: Combine) -> float | None:
    """The constant by which a mean of gradients is multiplied; None of any other combination."""
    if combine.kind != "sum":
        return None
    return multiplier_of_mean(analysed.graph, analysed.imported, combine, analysed.plan.towers)


def is_summed(analysed: AnalysedStep, combine: Combine) -> bool:
    """Returns whether gradients are summed over towers, and not averaged first."""
    return combine.kind == "sum" and _multiplier(analysed, combine) is None


def _constant_rate(analysed: AnalysedStep, effect: Effect) -> float | None:
    """The constant learning rate of an update by hand, or of one that subtracts rows; None of any other update."""
    is_by_hand = effect.node in analysed.rules and not op_types.is_apply(effect.op)
    rate = analysed.learning_rate(effect) if is_by_hand else None
    constant = analysed.imported.constant(*parse_tensor_name(rate)) if rate else None
    return None if constant is None or constant.size != 1 else float(constant)


def _without_rate(analysed: AnalysedStep, combine: Combine, rate: float) -> Combine:
    """Leaves out the learning rate by which gradients are multiplied before a weight or a velocity takes them."""
    if combine.kind != "sum" or rate <= 0:
        return combine
    if abs((_multiplier(analysed, combine) or 0) - rate) < SCALE_TOLERANCE * rate:
        return dataclasses.replace(combine, kind="mean", scale=1.0)
    is_plain = abs(combine.scale - rate) < SCALE_TOLERANCE * rate
    return dataclasses.replace(combine, scale=1.0) if is_plain else combine


def _losses_of(analysed: AnalysedStep, combine: Combine) -> int:
    """The number of losses whose gradients, each from a gradient graph of its own, are in a combined gradient."""
    before = analysed.graph.ancestors([parse_tensor_name(combine.tensor).node], controls=False)
    return sum(len(targets) for targets in differentiations(analysed.graph, before).values())


def _mean_of_parts(combine: Combine) -> str:
    """The words for a sum that is a mean of several gradients of each tower; "" for any other."""
    count = sum(map(len, combine.parts))
    is_mean = combine.kind == "sum" and count > len(combine.parts) and abs(combine.scale * count - 1) < SCALE_TOLERANCE
    return f"a mean of {count} gradients, {count / len(combine.parts):g} of each tower" if is_mean else ""


def _combining_ops(analysed: AnalysedStep, combine: Combine) -> str:
    starts = [name for tower in combine.parts for name in tower]
    kinds = {analysed.graph.type(name) for name in analysed.between([combine.tensor], starts)}
    return _listed(sorted(kinds - NO_WORK))


def _listed(kinds: list[str]) -> str:
    return ", ".join(kinds[:MOST_OPS] + (["..."] if len(kinds) > MOST_OPS else [])) or "-"


def _clipping(analysed: AnalysedStep, phase: Phase, combine: Combine) -> str:
    """The clipping of a gradient in its tower, and of the combined gradient; "no" if there is none."""
    if is_indices_label(combine.weight):
        return "no"
    weight = weight_of_label(combine.weight)
    effects = [e for e in phase.effects if e.writes[0] == weight and e.values]
    effect = next((e for e in effects if combine.tensor in (e.gradient, *e.values)), None)
    if effect is None:  # a weight that decays besides has an assignment, which takes no gradient
        effect = next((e for e in effects if e.node in analysed.rules), effects[0])
    # A global norm is made of all gradients: between it and the towers are the other combined gradients.
    between = analysed.between([effect.gradient or effect.values[0]], analysed.combined(phase))
    kept = {other.node for other in phase.effects if other.writes != effect.writes} & between
    if kept and not op_types.is_apply(effect.op):  # behind moments of gradients, a rate or a whole update is bounded
        between -= analysed.graph.descendants(kept, controls=False)
    after = analysed.clippings.text(between & analysed.context.of_gradients)  # others compute a learning rate
    after = _with_tower_of_norm(analysed, combine, after, between)
    texts = list(filter(None, [_clipping_in_towers(analysed, combine)]))
    return "; ".join(texts + (["after combining, " + after] if after else [])) or "no"


def _with_tower_of_norm(analysed: AnalysedStep, combine: Combine, text: str, between: Collection[str]) -> str:
    """Names the tower whose gradients alone are in the norm by which combined gradients are clipped.

    Args:
      analysed: the training step.
      combine: of several towers, else the norm is its own.
      text: of the clipping.
      between: the nodes between the combined gradient and the update.
    """
    if sum(map(bool, combine.parts)) < 2 or not text.startswith("by global norm"):
        return text
    scopes = [name for name in between if CLIPPING_SCOPES.search(name) and analysed.graph.type(name) == "Minimum"]
    owners = {analysed.context.towers.tower_of(name) for name in scopes}
    if len(owners) != 1 or None in owners:
        return text
    return text.replace("by global norm", f"by the global norm of tower {owners.pop()}'s gradients", 1)


def _clipping_in_towers(analysed: AnalysedStep, combine: Combine) -> str:
    """The clipping of a gradient in its tower, with the towers that clip if not all do; "" if none does."""
    texts: dict[str, list[int]] = collections.OrderedDict()
    for tower, parts in enumerate(combine.parts):
        near = {n for tensor in parts for n in _near(analysed, parse_tensor_name(tensor)[0], CLIP_DEPTH)}
        if parts:
            texts.setdefault(analysed.clippings.text(near), []).append(tower)
    if len(texts) == 1 and (any(texts) or combine.kind != "kept as written"):
        return "".join("in each tower, " + text for text in texts if text)
    parts = [tensor for names in combine.parts for tensor in names]
    between = analysed.between([combine.tensor], parts) & analysed.context.of_gradients
    behind = analysed.clippings.text(between)
    if behind and combine.kind == "kept as written":  # by what several towers compute
        return "while combining, " + behind
    clipped = {text: towers for text, towers in texts.items() if text}
    return "; ".join(f"in tower {', '.join(map(str, towers))} alone, {text}" for text, towers in clipped.items())


def _near(analysed: AnalysedStep, name: str, depth: int) -> set[str]:
    """A node and the forward nodes that it depends on by paths of at most `depth` edges."""
    level, seen = {name}, {name}
    for _ in range(depth):
        level = {before for n in level for before, _ in analysed.graph.inputs(n) if not is_gradient_op(before)} - seen
        seen |= level
    return seen


def sum_text(analysed: AnalysedStep, phase: Phase) -> str:
    """A sentence on a sum of the towers' gradients: a mean where their losses are divided, or scaled later."""
    changed = _changes_in_towers(analysed, phase)
    if changed:
        return f"gradients are changed in their towers ({_listed(changed)}) before they are summed"
    towers = analysed.plan.towers
    factors = factors_of_losses(analysed, phase)
    if factors and all(abs(factor * towers - 1) < SCALE_TOLERANCE for factor in factors):
        return f"what each tower's loss makes of its data counts 1/{towers}: the sum of gradients is a mean of those"
    effects = {effect.writes[0]: effect for effect in phase.effects if effect.gradient and effect.writes}
    sums = [one for one in phase.combine if is_summed(analysed, one)]
    summed = [one for one in sums if one.weight in effects]
    if summed and all(_mean_of_parts(one) for one in summed):
        return f"gradients are combined to {_mean_of_parts(summed[0])}"
    scales = {one.scale for one in summed}
    if factors and summed and all(abs(s * f * towers - 1) < SCALE_TOLERANCE for s in scales for f in factors):
        return f"gradients are combined to their mean, without the losses' factor of {factors[0]:g}"
    if summed and 1.0 not in scales and not any(op_types.is_apply(effects[one.weight].op) for one in summed):
        return f"gradients are summed over towers, times {scales.pop():g}, the update's own constants included"
    combined = [one.tensor for one in phase.combine]  # a global norm is made of all of them
    scaled = [one for one in summed if _is_scaled_later(analysed, effects[one.weight].gradient or "", combined)]
    if summed and len(scaled) == len(summed):
        return "gradients are summed over towers, and the sums multiplied by numbers that the graph computes"
    others = {one.weight for one in phase.combine if one.kind == "mean" or one not in sums and one.kind == "sum"}
    if others:
        which = listed([one.weight for one in sums], MOST_LISTED)
        return f"of the gradients, those of {which} are summed over towers, and those of others averaged"
    return "gradients are summed over towers, not averaged" + of_all_examples(analysed, factors)


def _changes_in_towers(analysed: AnalysedStep, phase: Phase) -> list[str]:
    """Types of the ops that towers compute with their gradients before these are summed, other than clipping."""
    graph, found = analysed.graph, set()
    for combine in [one for one in phase.combine if is_summed(analysed, one)]:
        todo = [parse_tensor_name(name).node for tower in combine.parts for name in tower]
        while todo:
            name = todo.pop()
            if GRADIENTS.search(name) or is_gradient_op(name) or name not in analysed.context.of_gradients:
                continue
            if CLIPPING_SCOPES.search(name):
                return []  # it has a column of its own
            found.add(graph.type(name))
            todo += [tensor.node for tensor in graph.inputs(name)]
    dense = MADE_DENSE if "UnsortedSegmentSum" in found else set()
    return sorted(found - NO_WORK - {"Reshape", "ExpandDims"} - dense)


def _is_scaled_later(analysed: AnalysedStep, gradient: str, combined: list[str]) -> bool:
    """Whether combined gradients are multiplied or divided before the update takes one, other than to clip it."""
    graph = analysed.graph
    shapes = [name for name in graph.nodes if graph.type(name) in op_types.SHAPE_OPS]  # as of noise that is added
    valued = graph.descendants([parse_tensor_name(name).node for name in combined], controls=False, stop=shapes)
    return any(
        analysed.graph.type(name) in ("Mul", "RealDiv", "Div") and not CLIPPING_SCOPES.search(name)
        for name in analysed.between([gradient], combined) & valued
    )
