"""Forward and backward passes: the place in the network from which the two sides' values differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from parity.diagnosis.evidence import Evidence, measured_once
from parity.diagnosis.localization.extents import find_extents
from parity.diagnosis.steps.compared_step import ComparedStep

#: Losses agree within so many roundings.
SAME_LOSS = 16

#: Two sides normalize the same values if the moments differ by at most so many roundings.
SAME_MOMENTS = 200


#: Rounding, and other inputs, revive a unit here and there; another activation revives at least this part of all that
#: are dead, over all steps.
REVIVED = 0.9


class Passes(NamedTuple):
    """Comparison of the forward and backward passes, in steps from the same state and batches.

    Attributes:
      losses_agree: whether no loss differs by more than rounding.
      equal_norms: layers with moving statistics, in the model's order, that see the same moments on both sides.
      unequal_norms: layers that see other moments.
      first_gap: relative difference of the moments in the first of those; 0 where there is none.
      unequal_gradients: weights whose gradients differ.
      equal_gradients: weights whose gradients agree.
      revived: weights of which many elements have no gradient in any replica of the left, and have one on the right;
        none unless that is so of every weight with such elements, for other inputs revive some units, whatever the
        activation is. Only those before the first normalization that sees other moments: behind it units get other
        inputs.
      replicas: those whose losses ever differ, where others' never do; else empty.
      steps: those in which some gradient differs, where in others none does; else empty.
    """

    losses_agree: bool
    equal_norms: list[str]
    unequal_norms: list[str]
    first_gap: float
    unequal_gradients: list[str]
    equal_gradients: list[str]
    revived: list[str]
    replicas: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()


@measured_once
def compare_passes(evidence: Evidence) -> Passes | None:
    """Returns the comparison; None without a step from the same state, with the same batch and masks, and losses."""
    if any(not batch.same for batch in evidence.batches) or (evidence.masks is not None and evidence.masks.same < 1):
        return None
    steps = [step for step in evidence.steps if step.same_state and len(step.left.losses) == len(step.right.losses)]
    if not steps or not steps[0].left.losses:
        return None
    gaps = _moment_gaps(evidence)
    equal = [layer for layer, gap in gaps.items() if gap <= SAME_MOMENTS * evidence.eps]
    unequal = [layer for layer in gaps if layer not in equal]
    extent = find_extents(evidence).gradients
    compared = {name for names in extent.compared.values() for name in names}
    wrong = extent.names
    with_same_inputs = _weights_before(evidence.left.weights, unequal[0] if unequal else None)
    off = {replica for step in steps for replica in _other_losses(step, evidence.eps)}
    return Passes(
        losses_agree=not off,
        equal_norms=equal,
        unequal_norms=unequal,
        first_gap=gaps[unequal[0]] if unequal else 0.0,
        unequal_gradients=[name for name in evidence.left.weights if name in wrong],
        equal_gradients=[name for name in evidence.left.weights if name in compared and name not in wrong],
        revived=_revived(steps, [name for name in wrong if name in with_same_inputs]),
        replicas=tuple(sorted(off)) if len(off) < len(steps[0].left.losses) else (),
        steps=tuple(extent.steps) if extent.in_some_steps else (),
    )


def _moment_gaps(evidence: Evidence) -> dict[str, float]:
    """{layer: largest relative gap of the moments that it proposes}, in the order in which the model makes them."""
    facts = evidence.statistics
    known = {} if facts is None or facts.borrowed else facts.gaps
    gaps: dict[str, float] = {}
    for name in evidence.left.statistics:
        if name in known:
            layer = name.rsplit("/", 1)[0]
            gaps[layer] = max(gaps.get(layer, 0.0), known[name])
    return gaps


def _weights_before(weights: Iterable[str], layer: str | None) -> list[str]:
    """Weights that the model asks for before a layer's own; all where there is no layer, none where it has none."""
    names = list(weights)
    if layer is None:
        return names
    own = [place for place, name in enumerate(names) if name.startswith(layer + "/")]
    return names[: own[0]] if own else []


def _other_losses(step: ComparedStep, eps: float) -> list[int]:
    """Replicas whose losses differ by more than rounding."""
    pairs = [(float(a), float(b)) for a, b in zip(step.left.losses, step.right.losses)]
    return [replica for replica, (a, b) in enumerate(pairs) if not abs(b - a) <= SAME_LOSS * eps * abs(a)]


def _revived(steps: Iterable[ComparedStep], names: Iterable[str]) -> list[str]:
    """Returns the weights that have elements without a gradient on all of the left's replicas, if all are revived."""
    counts = {name: _count_dead(steps, name) for name in names}
    dead = {name: count for name, count in counts.items() if count.dead}
    all_revived = all(count.revived >= max(1.0, REVIVED * count.dead) for count in dead.values())
    return list(dead) if all_revived else []


class _DeadElements(NamedTuple):
    """Numbers of elements, over all steps: without a gradient on the left, and of them with one on the right."""

    dead: int
    revived: int


def _count_dead(steps: Iterable[ComparedStep], name: str) -> _DeadElements:
    """Counts elements of a weight that have no gradient on all of the left's replicas, as those of dead units have."""
    dead_count = revived_count = 0
    for step in steps:
        left, right = (_gradients(record.gradients, name) for record in (step.left, step.right))
        shapes = {gradient.shape for gradient in (*left, *right)}  # rows of a sparse gradient have several
        if not left or len(left) != len(right) or len(shapes) > 1:
            return _DeadElements(0, 0)
        dead = np.all([gradient == 0 for gradient in left], axis=0)
        alive = np.any([gradient != 0 for gradient in right], axis=0)
        if not np.all(dead):
            dead_count, revived_count = dead_count + int(np.sum(dead)), revived_count + int(np.sum(dead & alive))
    return _DeadElements(dead_count, revived_count)


def _gradients(replicas: Iterable[dict[str, np.ndarray]], name: str) -> list[np.ndarray]:
    return [np.asarray(gradients[name]) for gradients in replicas if name in gradients]
