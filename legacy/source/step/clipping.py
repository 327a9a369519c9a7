"""Clipping of gradients, recognised by feeding numbers: whatever ops the author used, equal results are equal rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Sequence

import numpy as np
import tensorflow as tf

from legacy.saved.graph.op_types import is_sparse
from legacy.source.basics.cut import Cut, cut_part
from legacy.source.basics.unwritten import Unwritten
from legacy.source.step.derivatives import weight_gradients
from legacy.source.step.weight_order import clipped_weights, given_gradients
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.graph.importing import import_graph
from workloads.lifted.plan import indices_label
from workloads.numerics.clip_rule import Clip

if TYPE_CHECKING:
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Phase, Plan

v1 = tf.compat.v1

#: Ops of data that are fed.
_FED = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
#: Sizes of the made-up gradients: far below, about at and far above any limit.
SCALES = (1e-4, 0.3, 1.0, 30.0, 1e4)
#: A limit is the constant that is this near to the measured one.
NEAR = 1e-4


def find_clipping(plan: Plan, graph: Graph, phase: Phase) -> Optional[Clip]:
    """Finds how a train op clips its gradients.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.

    Returns:
      The rule; None for no clipping.

    Raises:
      Unwritten: something is done to the gradients that is no clipping, or they are clipped twice.
    """
    rules = [rule for rule in (clipping_of_towers(plan, graph, phase), clipping_after(plan, graph, phase)) if rule]
    if len(rules) > 1:
        raise Unwritten("clipping: in each tower, and again after combining")
    return rules[0] if rules else None


def clipping_of_towers(plan: Plan, graph: Graph, phase: Phase) -> Optional[Clip]:
    """Finds how each tower clips its gradients.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.

    Returns:
      The rule; None for no clipping.

    Raises:
      Unwritten: see `find_clipping`.
    """
    weights, given = clipped_weights(plan, phase), given_gradients(plan, phase)
    raw = weight_gradients(plan, graph, phase, 0)
    sparse = [name for name in weights if indices_label(name) in raw]
    if sparse:
        raise Unwritten(f"gradients: rows of {sparse[0]!r} {_way_of_rows(phase, sparse[0])}")
    if not all(name in raw for name in weights):
        return None
    return _rule_between(
        plan, graph, phase, weights, [raw[name] for name in weights], [given[name] for name in weights], "tower"
    )


def _way_of_rows(phase: Phase, weight: str) -> str:
    """Returns what is done to a weight's rows that no field of a workload describes."""
    updates = [effect for effect in phase.effects if effect.gradient and effect.writes[0] == weight]
    if any(is_sparse(effect.op) for effect in updates) or not updates:
        return "reach the optimizer, and a workload's gradients are dense"
    return "are changed by each tower before they become dense"


def clipping_after(plan: Plan, graph: Graph, phase: Phase) -> Optional[Clip]:
    """Finds how the combined gradients are clipped.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.

    Returns:
      The rule; None for no clipping.

    Raises:
      Unwritten: see `find_clipping`.
    """
    combined = {combine.weight: combine.tensor for combine in phase.combine}
    used = {effect.writes[0]: effect.gradient for effect in phase.effects if effect.gradient}
    names = [name for name in clipped_weights(plan, phase) if name in combined and name in used]
    before, after = [combined[name] for name in names], [str(used[name]) for name in names]
    return _rule_between(plan, graph, phase, names, before, after, "combined")


def _rule_between(
    plan: Plan,
    graph: Graph,
    phase: Phase,
    weights: Sequence[str],
    before: Sequence[str],
    after: Sequence[str],
    where: str,
) -> Optional[Clip]:
    """Finds the rule that leads from some gradients to others.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      weights: those that the gradients are of.
      before: tensor of each gradient.
      after: the same, clipped.
      where: see `Clip`.

    Returns:
      The rule; None if they are the same tensors.

    Raises:
      Unwritten: see `find_clipping`.
    """
    if list(before) == list(after):
        return None
    cut = cut_part(plan, graph, list(after), list(before), phase.versions)
    others = {str(getattr(feed.key, "variable", feed.key)) for feed in cut.piece.feeds if str(feed.key) not in before}
    given = {feed.placeholder for feed in cut.piece.feeds}
    others |= {node.name for node in cut.piece.graph_def.node if node.op in _FED and node.name not in given}
    if others:
        read = ", ".join(sorted(others)[:3])
        op = graph.type(parse_tensor_name(after[0]).node)
        raise Unwritten(f"gradients: {after[0]!r} ({op}) is not made from gradients alone, but also from {read}")
    sizes = {variable.name: list(variable.shape) for variable in plan.variables}
    return measured_rule(cut, list(before), [sizes[name] for name in weights], where)


def measured_rule(cut: Cut, before: List[str], shapes: List[List[int]], where: str) -> Optional[Clip]:
    """Returns the rule that a part applies to gradients.

    Args:
      cut: the part.
      before: names of the gradients that it takes.
      shapes: of these.
      where: see `Clip`.

    Returns:
      The rule; None if it hands them on.

    Raises:
      Unwritten: no rule gives the same bits.
    """
    rng = np.random.RandomState(0)
    samples = [[np.asarray(rng.randn(*shape) * scale, np.float32) for shape in shapes] for scale in SCALES]
    limits = _float_constants(cut)
    with tf.Graph().as_default() as graph, v1.Session() as session:
        results = import_graph(cut.piece.graph_def, fetches=cut.fetches, subject="graph file")
        holders = {str(feed.key): graph.get_tensor_by_name(feed.placeholder + ":0") for feed in cut.piece.feeds}
        feeds = [{holders[t]: v for t, v in zip(before, sample) if t in holders} for sample in samples]
        seen = [session.run(results, feed) for feed in feeds]
        if all(_same(a, b) for a, b in zip(seen, samples)):
            _require_hands_on(
                session, results, {holders[t]: v for t, v in zip(before, _odd(samples[0])) if t in holders}
            )
            return None
        rough = seen[-1]
        measured = {
            "global_norm": float(np.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in rough))),
            "norm": float(np.sqrt((rough[0].astype(np.float64) ** 2).sum())),
            "value": float(max(np.abs(g).max() for g in rough)),
        }
        for how, size in measured.items():
            for limit in [value for value in limits if abs(value - size) <= NEAR * abs(size)]:
                rule = Clip(float(str(np.float32(limit))), where, how)
                if all(_same(session.run(_clipped(sample, rule)), values) for sample, values in zip(samples, seen)):
                    return rule
    raise Unwritten(f"gradients: what is done to them ({where}) is no clipping that is known here")


def _odd(values: Sequence[np.ndarray]) -> List[np.ndarray]:
    """Returns gradients whose first numbers are NaN and infinite."""
    odd = [np.array(value) for value in values]
    for value in odd:
        value.flat[0] = np.nan
        value.flat[1:2] = np.inf
    return odd


def _require_hands_on(
    session: tf.compat.v1.Session, results: List[tf.Tensor], odd: Dict[tf.Tensor, np.ndarray]
) -> None:
    """Raises `Unwritten` if gradients that are handed on are changed where they are not finite."""
    if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(session.run(results, odd), odd.values())):
        raise Unwritten("gradients: those that are not finite are replaced")


def _clipped(values: Sequence[np.ndarray], rule: Clip) -> List[tf.Tensor]:
    from workloads.numerics import combining

    return combining.clip([tf.constant(value) for value in values], rule, rule.where)


def _same(one: Sequence[np.ndarray], two: Sequence[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two))


def _float_constants(cut: Cut) -> List[float]:
    found = set()
    for node in cut.piece.graph_def.node:
        if node.op == "Const":
            value = tf.make_ndarray(node.attr["value"].tensor)
            if value.shape == () and value.dtype.kind == "f" and float(value) > 0:
                found.add(float(value))
    return sorted(found)
