"""Clipping of gradients in their towers, and of combined gradients."""

from __future__ import annotations

import collections
from collections.abc import Collection

from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.clipping import CLIPPING_SCOPES
from legacy.saved.facts.combining.one_tower import only_tower
from legacy.saved.graph import op_types
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Combine, Phase, is_indices_label, weight_of_label
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Most nodes between a tower's clipping and the end of its gradient.
CLIP_DEPTH = 6


def clipping_text(analysed: AnalysedStep, phase: Phase, combine: Combine) -> str:
    """Finds the clipping of a gradient in its tower, and of the combined gradient.

    Args:
      analysed: the training step.
      phase: the train op's run.
      combine: how it combines the gradients of one variable.

    Returns:
      Its words, with the bounds; "no" if there is none.
    """
    if is_indices_label(combine.weight):
        return "no"
    between = _nodes_behind(analysed, phase, combine)
    after = analysed.clippings.text(between & analysed.context.of_gradients)  # others compute a learning rate
    after = _with_tower_of_norm(analysed, combine, after, between)
    texts = list(filter(None, [_clipping_in_towers(analysed, combine)]))
    return "; ".join(texts + (["after combining, " + after] if after else [])) or "no"


def global_norm(analysed: AnalysedStep, phase: Phase, combine: Combine) -> frozenset[str]:
    """Returns the terms of the global norm by which a gradient is clipped; empty if it is clipped by none.

    Args:
      analysed: the training step.
      phase: the train op's run.
      combine: how it combines the gradients of one variable.

    Returns:
      Names of the ops that square the gradients in it; of all towers that have the gradient, if these clip.
    """
    if is_indices_label(combine.weight):
        return frozenset()
    parts = [tensor for tensors in combine.parts for tensor in tensors]
    near = {name for tensor in parts for name in _near(analysed, parse_tensor_name(tensor)[0], CLIP_DEPTH)}
    behind = _nodes_behind(analysed, phase, combine) & analysed.context.of_gradients
    return analysed.clippings.global_norm(behind) or analysed.clippings.global_norm(near)


def _nodes_behind(analysed: AnalysedStep, phase: Phase, combine: Combine) -> set[str]:
    """The nodes between a combined gradient and its update."""
    weight = weight_of_label(combine.weight)
    effects = [e for e in phase.effects if e.writes[0] == weight and e.values]
    effect = next((e for e in effects if combine.tensor in (e.gradient, *e.values)), None)
    if effect is None:  # a weight that decays besides has an assignment, which takes no gradient
        updates = [e for e in effects if e.node in analysed.rules] or effects[:1]
        behind = analysed.graph.descendants([parse_tensor_name(combine.tensor).node], controls=False)
        effect = next((e for e in updates if e.node in behind), updates[0])  # rows that decay take the indices alone
    # A global norm is made of all gradients: between it and the towers are the other combined gradients.
    between = analysed.between([effect.gradient or effect.values[0]], analysed.combined(phase))
    kept = {other.node for other in phase.effects if other.writes != effect.writes} & between
    if kept and not op_types.is_apply(effect.op):  # behind moments of gradients, a rate or a whole update is bounded
        between -= analysed.graph.descendants(kept, controls=False)
    return between


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
        return behind if only_tower(combine) is not None else "while combining, " + behind
    clipped = {text: towers for text, towers in texts.items() if text}
    return "; ".join(f"in tower {', '.join(map(str, towers))} alone, {text}" for text, towers in clipped.items())


def _near(analysed: AnalysedStep, name: str, depth: int) -> set[str]:
    """A node and the forward nodes that it depends on by paths of at most `depth` edges."""
    level, seen = {name}, {name}
    for _ in range(depth):
        level = {before for n in level for before, _ in analysed.graph.inputs(n) if not is_gradient_op(before)} - seen
        seen |= level
    return seen
