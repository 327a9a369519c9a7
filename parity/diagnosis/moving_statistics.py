"""Whose statistics each side kept, and how a replica's proposal on the right comes from the left's."""

from __future__ import annotations

import dataclasses
from typing import Dict, List

import numpy as np

from parity.comparison.fits import combination, flat, relative, scale

#: Momenta that a chain of updates is tried with, when nothing says which it was.
MOMENTA = (0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.997, 0.999, 0.9997, 0.9999)


@dataclasses.dataclass(frozen=True)
class Move:
    """How proposals on the right come from the left's, of one statistic, from the same old value.

    Attributes:
      share: `Scale` of (right - old) by (left - old): 1 - momentum on the right over that on the left.
      mix: (a, c, residual) of `right ~ a * left + c * old`.
    """

    share: object
    mix: tuple


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Attributes:
    owners: (left, right): {who: largest residual} of what explains the kept statistics in every step: "first",
      "last", "replica i", "mean", "all in turn", "none".
    borrowed: whether the right's are explained by the left's proposals, since it shows none of its own.
    moves: {statistic: [`Move`]}, over replicas and steps from the same state.
    alike: (left, right) largest relative difference between replicas of a statistic's proposal; 0 where the
      replicas share their moments.
    global_mean: smallest relative gap, over statistics, between the right's proposal and the mean of the left's.
    gaps: {statistic: largest relative gap between the two sides' proposals, in steps from the same state}.
    drift: statistics whose copies disagreed on the right.
    steps: how many were seen.
    """

    owners: tuple
    borrowed: bool
    moves: Dict[str, List[Move]]
    alike: tuple
    global_mean: float
    gaps: Dict[str, float]
    drift: List[str]
    steps: int


def measure(steps):
    """`Statistics`, or None if there are none to see."""
    steps = [s for s in steps if s.left.state.statistics and s.left.proposals and s.left.proposals[0]]
    if not steps:
        return None
    names = sorted(set(steps[0].left.proposals[0]) & set(steps[0].right.state.statistics))
    if not names:
        return None
    same = [step for step in steps if step.same_state and _near_states(step, names)]
    borrowed = not all(step.right.proposals for step in steps)
    left = _owners([(s.left_before, s.left, s.left.proposals) for s in steps], names)
    if borrowed:  # variances may lack Bessel's correction, so means alone tell whose they are
        means = [name for name in names if "mean" in name.lower()] or names
        right = _owners([(s.right_before, s.right, s.left.proposals) for s in same], means)
    else:
        right = _owners([(s.right_before, s.right, s.right.proposals) for s in steps], names)
    shown = [] if borrowed else same
    kept = [dict(s.right.state.statistics) for s in same] if borrowed and "first" in right else []
    return Statistics(
        (left, right),
        borrowed,
        {
            name: [m for s in shown for m in _moves(s, name, s.right.proposals)]
            + [m for s, row in zip(same, kept) for m in _moves(s, name, [row])]
            for name in names
        },
        tuple(_alike([getattr(s, side).proposals for s in shown], names) for side in ("left", "right")),
        _global(shown, names),
        {name: _gap_between(shown, name) for name in names} if shown else {},
        sorted({name for step in steps for name in step.right.drift if name in names}),
        len(steps),
    )


def _near_states(step, names):
    a, b = (flat(state.statistics, names) for state in (step.left_before, step.right_before))
    return relative(b - a, a) <= 1e-6


def _owners(rows, names):
    """{who: largest residual} of the owners that explain every (state before, record, proposals)."""
    rows = [row for row in rows if row[2]]
    if not rows:
        return {}
    found = {}
    replicas = len(rows[0][2])
    for who in _people(replicas):
        worst = max(_gap(before, record, proposals, who, names) for before, record, proposals in rows)
        if worst <= 1e-3:
            found[who] = worst
    return found


def _people(replicas):
    middle = [f"replica {i}" for i in range(1, replicas - 1)]
    chain = [("all in turn", momentum) for momentum in MOMENTA]
    return ["first", "last", "mean"] + middle + ["none"] + chain


def _gap(before, record, proposals, who, names):
    """|kept - expected| / |kept - old|: how badly `who` explains a step's statistics."""
    old, kept = flat(before.statistics, names), flat(record.state.statistics, names)
    offered = [flat(proposal, names) for proposal in proposals]
    if who == "none":
        return 0.0 if np.array_equal(old, kept) else float("inf")
    if isinstance(who, tuple):
        expected = old
        for offer in offered:
            expected = who[1] * expected + (offer - who[1] * old)
    elif who == "mean":
        expected = sum(offered) / len(offered)
    else:
        expected = offered[{"first": 0, "last": -1}.get(who, int(who.split()[-1]) if " " in who else 0)]
    return relative(kept - expected, expected - old)


def _moves(step, name, proposals):
    old = np.asarray(step.left_before.statistics[name], np.float64).ravel()
    for left, right in zip(step.left.proposals, proposals):
        if name in left and name in right:
            a, b = np.asarray(left[name], np.float64).ravel(), np.asarray(right[name], np.float64).ravel()
            mix = combination([a, old], b)
            yield Move(scale(a - old, b - old), (float(mix.coefficients[0]), float(mix.coefficients[1]), mix.residual))


def _alike(records, names):
    """Largest over statistics of how far the replicas' proposals are apart."""
    gaps = [
        max(
            (relative(flat(other, [name]) - flat(row[0], [name]), flat(row[0], [name])) for other in row[1:]),
            default=1.0,
        )
        for row in records
        for name in names
    ]
    return max(gaps, default=float("nan"))


def _gap_between(steps, name):
    return max(
        relative(flat(b, [name]) - flat(a, [name]), flat(a, [name]))
        for step in steps
        for a, b in zip(step.left.proposals, step.right.proposals)
    )


def _global(steps, names):
    gaps = [
        relative(
            flat(step.right.proposals[0], [name])
            - sum(flat(row, [name]) for row in step.left.proposals) / len(step.left.proposals),
            flat(step.left.proposals[0], [name]),
        )
        for step in steps
        for name in names
    ]
    return min(gaps, default=float("nan"))
