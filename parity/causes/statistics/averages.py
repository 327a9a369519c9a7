"""Causes in the moving averages of the weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.wording import decay_of_share, format_factor
from parity.causes.statistics.faulty_averages import (
    AveragesBeforeUpdate,
    AveragesInEvenSteps,
    copied_averages,
    skipped_averages,
)
from parity.comparison import stages
from parity.comparison.fits import largest, near, spread
from workloads.support.wording import counted
from workloads.workload import MovingAverage

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.facts.moving_averages import AverageMove

#: A share is compared where rounding is less than this part of the averages' change, and the fit leaves less over.
MOST_NOISE, MOST_RESIDUAL = 0.2, 0.1

#: The fit of a share leaves so many times the rounding over; one that leaves more is of variables of unlike shares.
MOST_ROUNDING, CLEAN = 3.0, 1e-3

#: Two shares are equal within this part; shares are constant if they spread over less than `CONSTANT`.
SAME_SHARE, CONSTANT = 2e-2, 5e-2

#: A share of one within this part is a copy.
SAME_COPY = 1e-4


class StepShares(NamedTuple):
    """The part of the new weights that each side's averages take in during one step: 1 - decay."""

    step: int
    left: float
    right: float


def ema_warm_up(evidence: Evidence) -> Finding | None:
    """Recognizes EMA_WARM_UP: one side's decay warms up and the other side's is constant."""
    shares = _compared_shares(evidence)
    if len(shares) < 2 or all(near(row.right, row.left, SAME_SHARE) for row in shares):
        return None
    left = {row.step: row.left for row in shares}
    right = {row.step: row.right for row in shares}
    left_warms_up = _warms_up(left)
    if not left_warms_up and not _warms_up(right):
        return None
    other_side = right if left_warms_up else left
    constant = list(other_side.values())
    if spread(constant) > CONSTANT or _may_warm_up(other_side):
        return None
    warming, other = ("legacy's averages", "the port's") if left_warms_up else ("the port's averages", "legacy's")
    return Finding(
        f"The decay of {warming} warms up as min(decay, (1 + n) / (10 + n)), while {other} take in "
        f"{format_factor(constant[0])} of the weights in every step.",
        HIGH,
        f"share of the new weights fitted in {counted(len(shares), 'step')}",
        _warm_up_constants(evidence, left_warms_up, constant[0]),
    )


def _warm_up_constants(evidence: Evidence, left_warms_up: bool, share: float) -> dict[str, float | bool]:
    """The port's decay: fitted where it is constant, legacy's where the port's warms up."""
    legacy = evidence.context.moving_average
    kept = legacy.decay if legacy is not None else MovingAverage().decay
    return {"decay": decay_of_share(share) if left_warms_up else kept, "warm_up": not left_warms_up}


def ema_stale(evidence: Evidence) -> Finding | None:
    """Recognizes EMA_STALE: the change of the port's averages fits the weights before the update."""
    left, right = evidence.averages
    clear = [move for move in right if move.moved and move.noise < 2e-3]
    if not clear or not all(m.old.residual < 2e-2 and m.new.residual > 10 * m.old.residual for m in clear):
        return None
    if not any(move.moved and move.new.residual < 1e-2 for move in left):
        return None
    old = largest(move.old.residual for move in clear)
    new = min(move.new.residual for move in clear)
    return Finding(
        "The port averages the weights as they are before the update, legacy as they are after it.",
        HIGH,
        f"the change of the port's averages fits the old weights (residual {old:.1e}) and not the new ones ({new:.1e})",
    )


def ema_skipped(evidence: Evidence) -> Finding | None:
    """Recognizes EMA_SKIPPED: no bit of the port's averages changes in a step in which legacy's change."""
    left, right = evidence.averages
    moved = {move.step: move.moved for move in left}
    still = [move.step for move in right if not move.moved and moved.get(move.step)]
    if not still or ema_stale(evidence):
        return None
    return Finding(
        f"The port does not update its averages in {len(still)} of {len(right)} steps (first at step {still[0]}).",
        HIGH,
        "no bit of the port's averages changes in these steps, and legacy's change",
        steps=tuple(still),
    )


def ema_copied(evidence: Evidence) -> Finding | None:
    """Recognizes EMA_COPIED: in some steps the port's averages become the weights, and in all others both agree."""
    shares = _compared_shares(evidence)
    copied = [row for row in shares if near(row.right, 1, SAME_COPY) and not near(row.left, 1, SAME_SHARE)]
    others = [row for row in shares if row not in copied]
    if not copied or not others or not all(near(row.right, row.left, _precision(evidence)) for row in others):
        return None
    return Finding(
        f"The port's averages become the weights in {counted(len(copied), 'step')} (first at step {copied[0].step}), "
        f"where legacy's take in {format_factor(copied[0].left)} of them.",
        HIGH,
        f"share of the new weights fitted in {counted(len(shares), 'step')}; in the others both sides' are equal",
        steps=tuple(row.step for row in copied),
    )


def ema_decay(evidence: Evidence) -> Finding | None:
    """Recognizes EMA_DECAY: the averages take in another share of the new weights."""
    shares = _compared_shares(evidence)
    ratios = [row.right / row.left for row in shares if row.left]
    if (
        not ratios
        or ema_warm_up(evidence)
        or ema_stale(evidence)
        or ema_copied(evidence)
        or near(float(np.median(ratios)), 1, _precision(evidence))
    ):
        return None
    middle = sorted(shares, key=lambda row: row.right / (row.left or 1.0))[len(shares) // 2]
    return Finding(
        f"The averages have another decay: in a step the port's take in {format_factor(middle.right)} of the new "
        f"weights and legacy's {format_factor(middle.left)}.",
        HIGH,
        f"share of the new weights fitted in {counted(len(shares), 'step')}",
        {"decay": decay_of_share(middle.right)},
    )


def _precision(evidence: Evidence) -> float:
    """Relative error of a median share that rounding can make: of the least noisy steps, and never less than 1e-3."""
    noise = [max(a.noise, b.noise) for a, b in zip(*evidence.averages) if max(a.noise, b.noise) < MOST_NOISE]
    return min(SAME_SHARE, max(1e-3, float(np.median(noise)))) if noise else SAME_SHARE


def _compared_shares(evidence: Evidence) -> list[StepShares]:
    """The shares of the steps in which both sides' can be fitted."""
    left, right = (_fitted_shares(moves) for moves in evidence.averages)
    return [StepShares(step, left[step], right[step]) for step in left if step in right]


def _fitted_shares(moves: Sequence[AverageMove]) -> dict[int, float]:
    """{step: share of the new weights} of the steps in which the change stands out of rounding."""
    return {
        move.step: move.new.factor for move in moves if move.moved and move.noise < MOST_NOISE and _is_one_share(move)
    }


def _is_one_share(move: AverageMove) -> bool:
    """Whether one share explains all averages to rounding."""
    return move.new.residual < min(MOST_RESIDUAL, max(CLEAN, MOST_ROUNDING * move.noise))


def _may_warm_up(shares: dict[int, float]) -> bool:
    """Whether the shares follow 1 - min(decay, (1 + n) / (10 + n)), where n = step + 1 counts updates.

    After the warm-up, or where the decay is less than the first of a warm-up, a constant decay follows it too.
    """
    last = min(shares.values())
    return all(near(share, max(last, 1 - (2 + step) / (11 + step)), SAME_SHARE) for step, share in shares.items())


def _warms_up(shares: dict[int, float]) -> bool:
    """Whether the shares follow a warm-up, and vary as those of no constant decay do."""
    return _may_warm_up(shares) and spread(shares.values()) > CONSTANT


def _inject_skipped(finding: Finding, setup: Setup) -> injection.Change:
    return skipped_averages(finding.steps)


def _inject_copied(finding: Finding, setup: Setup) -> injection.Change:
    return copied_averages(finding.steps)


def _inject_stale(finding: Finding, setup: Setup) -> injection.Change:
    return injection.in_replica_step(AveragesBeforeUpdate)


def _inject_decay(finding: Finding, setup: Setup) -> injection.Change | None:
    """Injects the decay; whether it warms up is the workload's own choice unless the finding says it."""
    average = setup.job.workload.moving_average
    if average is None:
        return None
    warm_up = bool(finding.constants.get("warm_up", average.warm_up))
    return _change_average(MovingAverage(finding.constants["decay"], warm_up))


def _change_average(average: MovingAverage) -> injection.Change:
    return injection.in_workload(lambda job: {"moving_average": average})


_with_warm_up = injection.with_fields(moving_average=MovingAverage(0.99, warm_up=True))
_without_warm_up = injection.with_fields(moving_average=MovingAverage(0.9, warm_up=False))

CAUSES = (
    Cause(
        id="EMA_STALE",
        stage=stages.AVERAGES,
        title="the averages are updated before the weights",
        signature="The change of the averages fits the weights before the step, not those after it",
        why="The moving average is run together with the optimizer's update instead of after it.",
        fix="Update the averages after the optimizer's update (by a control dependency, or the order of statements).",
        criterion=ema_stale,
        change=_inject_stale,
        by_variable=True,
        faults=(Fault("averages_before_the_update", injection.in_replica_step(AveragesBeforeUpdate), _with_warm_up),),
    ),
    Cause(
        id="EMA_SKIPPED",
        stage=stages.AVERAGES,
        title="the averages are not updated in every step",
        signature="No bit of the averages changes in some steps",
        why="The averages are updated under a condition, or every few steps only.",
        fix="Update the averages in every step.",
        criterion=ema_skipped,
        change=_inject_skipped,
        by_variable=True,
        faults=(Fault("averages_every_other_step", injection.in_replica_step(AveragesInEvenSteps), _with_warm_up),),
    ),
    Cause(
        id="EMA_COPIED",
        stage=stages.AVERAGES,
        title="the averages become the weights in some steps",
        signature="In some steps the averages are the new weights, and in all others both sides take in the same",
        why="Averages that are made, or filled, with the first update begin with the weights after it, as PyTorch's "
        "`AveragedModel` does; 1.x begins with the initial weights. Or an epoch's end copies the weights over them.",
        fix="Begin with the initial weights, and update the averages in the first step too.",
        criterion=ema_copied,
        change=_inject_copied,
        by_variable=True,
        by_step=False,
        faults=(Fault("averages_begin_with_the_first_update", copied_averages((0,)), _without_warm_up),),
    ),
    Cause(
        id="EMA_WARM_UP",
        stage=stages.AVERAGES,
        title="the averages' decay does not warm up",
        signature="Legacy's averages take in 1 - (1 + n) / (10 + n) of the new weights, the port's a constant share",
        why="ExponentialMovingAverage(num_updates=step) warms up its decay; Keras's use_ema does not.",
        fix="Compute the decay as min(decay, (1 + n) / (10 + n)).",
        criterion=ema_warm_up,
        change=_inject_decay,
        by_variable=True,
        by_step=False,
        faults=(Fault("averages_without_warm_up", _change_average(MovingAverage(0.99, warm_up=False)), _with_warm_up),),
    ),
    Cause(
        id="EMA_DECAY",
        stage=stages.AVERAGES,
        title="another decay of the averages",
        signature="The averages take in another share of the new weights",
        why="The decay was not carried over.",
        fix="Give the port legacy's decay.",
        criterion=ema_decay,
        change=_inject_decay,
        by_variable=True,
        faults=(
            Fault(
                "another_decay_of_the_averages",
                _change_average(MovingAverage(0.8, warm_up=False)),
                _without_warm_up,
            ),
        ),
    ),
)
