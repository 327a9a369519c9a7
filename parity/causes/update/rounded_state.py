"""Cause: weights or slots are rounded to half precision once, as by a checkpoint that stores them so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.comparison import stages
from parity.comparison.fits import flatten_arrays, relative_norm
from parity.diagnosis.signatures.precision import LEAST_NUMBERS, round_to_format
from parity.diagnosis.stage_checks.observed_updates import observe_update, update_readings
from workloads.numerics.half_precision import SIGNIFICANDS

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep
    from workloads.optimizers import Optimizer

#: What a step starts from is a rounded value if it is off by so many roundings; the value itself is this much further.
SAME, FURTHER = 32.0, 16.0


class _Rounded(NamedTuple):
    """A kind of arrays that a step starts from, or leaves, rounded to a format."""

    step: int
    kind: str
    format: str


def state_rounded(evidence: Evidence) -> Finding | None:
    """Recognizes STATE_ROUNDED: the state that a step leaves, or starts from, is in half precision in a few steps."""
    found = [row for step in evidence.steps for row in _rounded(step, evidence.context.optimizer, evidence.eps)]
    steps = sorted({row.step for row in found})
    if not steps or len(steps) > len(evidence.steps) // 2:
        return None  # in every step: `HALF_PRECISION`
    kinds = " and ".join(sorted({row.kind for row in found}, reverse=True))
    listed = ", ".join(map(str, steps[:4]))
    return Finding(
        f"The port's {kinds} are rounded to {found[0].format} at step {listed} and no other: a checkpoint, or "
        "a copy between processes, that holds them in half precision.",
        HIGH,
        "what the step starts from is the value before it in that format, to rounding, in every variable",
        {"format": found[0].format},
        steps=tuple(steps),
    )


def _rounded(step: ComparedStep, optimizer: Optimizer | None, eps: float) -> Iterator[_Rounded]:
    before, after, legacys = step.right_before, step.right.state, step.left.state
    for kind in ("weights", "slots"):
        old, new, other = (getattr(state, kind) for state in (before, after, legacys))
        for form in SIGNIFICANDS:
            if _is_narrow(new, form) and not _is_narrow(old, form) and not _is_narrow(other, form):
                yield _Rounded(step.right.step, kind, form)
                break
    update = None if optimizer is None else observe_update(step.right, before, optimizer)
    if update is None or optimizer is None:
        return
    own = next(iter(optimizer.update_forms().values()))
    for reading in update_readings(update, optimizer):
        predicted = own(reading)
        if predicted is None or not np.all(np.isfinite(predicted)):
            continue
        start = update.weights + update.change - predicted
        for form in SIGNIFICANDS:
            rounded = round_to_format(update.weights, form)
            off = relative_norm(start - rounded, rounded)
            if off <= SAME * eps and relative_norm(start - update.weights, rounded) > FURTHER * SAME * eps:
                yield _Rounded(update.step, "weights", form)
                return


def _is_narrow(arrays: Mapping[str, np.ndarray], form: str) -> bool:
    names = [name for name in sorted(arrays) if np.ndim(arrays[name])]
    values: np.ndarray = flatten_arrays(dict(arrays), names) if names else np.zeros(0)
    return np.unique(values).size >= LEAST_NUMBERS and bool(np.array_equal(round_to_format(values, form), values))


class _HalfOnce(injection.WrappedRules):
    """Rounds the weights to float16 after the third update."""

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        import tensorflow as tf

        self._rules.apply(local, gradients, rate)
        now = tf.equal(tf.math.floormod(local.step.read_value(), 6), 2)
        for name in gradients:
            value = local.weights[name].read_value()
            local.weights[name].assign(tf.where(now, tf.cast(tf.cast(value, tf.float16), value.dtype), value))


CAUSES = (
    Cause(
        id="STATE_ROUNDED",
        stage=stages.WEIGHTS,
        covers=(stages.LOSS, stages.GRADIENTS, stages.WEIGHTS, stages.SLOTS),
        title="weights are rounded to half precision once",
        signature="In one step the weights are those before it in float16 or bfloat16, plus the update",
        why="A checkpoint, or an export, in half precision from which training went on.",
        fix="Store weights and slots in the precision in which they are trained.",
        criterion=state_rounded,
        by_step=False,
        faults=(Fault("weights_in_half_precision_once", injection.in_update_rules(_HalfOnce), injection.without_clip),),
    ),
)
