"""Deviations: everything in two programs' steps that rounding does not explain, judged stage by stage."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parity.comparison import stages
from parity.comparison.difference import compare
from parity.diagnosis.candidates.combined_forms import CombinedForm, stated_form
from parity.diagnosis.stage_checks.deviation import Deviation, deviation_of, deviations_by_rule, group_errors
from parity.diagnosis.stage_checks.forward_check import MOST_GAP, check_forward
from parity.diagnosis.stage_checks.plain_check import (
    check_initial_state,
    check_learning_rate,
    check_without_rule,
    with_history,
)
from parity.diagnosis.stage_checks.rule_errors import StageRules
from parity.diagnosis.stage_checks.side_step import SideStep, StepPair, pair_steps
from parity.diagnosis.stage_checks.statistics_check import check_statistics
from parity.diagnosis.stage_checks.tensor_error import TensorError
from workloads.numerics.statistics import FIRST_TOWER, LAST_TOWER, MEAN_OF_TOWERS

if TYPE_CHECKING:
    from parity.diagnosis.context.job_context import Context
    from parity.diagnosis.evidence import Evidence
    from parity.diagnosis.steps.compared_step import ComparedStep
    from workloads.program import State

#: Stages that a rule explains from a side's own record.
RULED = (stages.COMBINED, stages.WEIGHTS, stages.SLOTS, stages.STATISTICS, stages.AVERAGES)

#: (stage, name) of a tensor.
Key = tuple[str, str]


@dataclasses.dataclass(frozen=True)
class Deviations:
    """All that rounding does not explain, and all that could not be judged.

    Attributes:
      found: in causal order.
      differing: stages in which any bit differs in any step.
      unjudged: those of them in which nothing could be judged.
      pure_rounding: weights whose gradients are nothing but rounding on both sides.
      unjudged_passes: numbers of the steps whose losses and gradients could not be compared, for the weights before
        them had diverged too far.
    """

    found: list[Deviation]
    differing: list[str]
    unjudged: list[str]
    pure_rounding: list[str]
    unjudged_passes: tuple[int, ...] = ()


def find_deviations(evidence: Evidence, right_context: Context | None = None) -> Deviations:
    """Checks every stage of every step and returns the tensors that rounding does not explain.

    A tensor is judged by the rule that the context states, from that side's own inputs, if the rule explains the
    left. Everything else is compared with the left's where both sides had nearly the same inputs.

    Args:
      evidence: of both programs' steps.
      right_context: choices by which the right is judged; None for those of the evidence.
    """
    pairs = with_history(
        pair_steps(SideStep(step.left, step.left_before), SideStep(step.right, step.right_before))
        for step in evidence.steps
    )
    forward, pure_rounding = _forward_errors(evidence, pairs)
    initial = check_initial_state(_with_accumulators(evidence, right_context), evidence.right, evidence.eps)
    rates = [error for pair in pairs for error in check_learning_rate(pair.left, pair.right)]
    compared = group_errors([*initial, *forward, *rates])
    contexts = (evidence.context, right_context or evidence.context)
    ruled = [group_errors(_errors_by_rule(evidence, contexts[side], pairs, side)) for side in (0, 1)]
    found, unruled = deviations_by_rule(*ruled)
    compared.update(_errors_without_rule(pairs, set(ruled[1]) - unruled, evidence.eps))
    found += [d for d in (deviation_of(errors) for errors in compared.values()) if d is not None]
    found += _batch_deviations(evidence) + _mask_deviations(evidence.steps) + _drift_deviations(evidence.steps)
    judged = {stage for stage, _ in [*compared, *(set(ruled[1]) - unruled)]} | {d.stage for d in found}
    judged |= {stages.BATCH} if evidence.batches else set()
    differing = _differing_stages(evidence)
    unjudged = [stage for stage in differing if stage not in judged]
    diverged = tuple(pair.left.record.step for pair in pairs if _has_diverged(pair))
    return Deviations(sorted(found, key=_causal_order), differing, unjudged, pure_rounding, diverged)


def _has_diverged(pair: StepPair) -> bool:
    """Whether both sides show losses or gradients of a step that they took from weights too far apart."""
    left, right = pair.left.record, pair.right.record
    shown = bool(left.losses and right.losses) or bool(left.gradients and right.gradients)
    return shown and not pair.state_gap <= MOST_GAP


def _with_accumulators(evidence: Evidence, right_context: Context | None) -> State:
    """The left's initial state, with the accumulators that the right's own optimizer starts with.

    A right side that starts from the left's checkpoint has the left's powers, whatever its own constants are.
    """
    optimizer = right_context.optimizer if right_context is not None else None
    if optimizer is None:
        return evidence.left
    powers = {n: np.float32(c) ** np.float32(evidence.left.step + 1) for n, c in optimizer.accumulators().items()}
    left, right = evidence.left.slots, evidence.right.slots
    own = {name for name in powers if name in left and name in right and not np.array_equal(left[name], right[name])}
    known = {name: np.asarray(powers[name]) for name in own}
    return dataclasses.replace(evidence.left, slots={**evidence.left.slots, **known})


def _causal_order(deviation: Deviation) -> tuple[int, int, str]:
    return stages.STAGES.index(deviation.stage), deviation.steps[0], deviation.name


def _forward_errors(evidence: Evidence, pairs: Sequence[StepPair]) -> tuple[list[TensorError], list[str]]:
    other_batch = {batch.step for batch in evidence.batches if not batch.same}
    other_batch |= {step.left.step for step in evidence.steps if list(_other_masks(step))}
    errors, noise, judged = [], set(), set()
    for pair in pairs:
        if pair.left.record.step not in other_batch:
            checked = check_forward(pair, evidence.eps)
            errors += checked.errors
            noise |= set(checked.pure_rounding)
            judged |= {error.name for error in checked.errors if error.stage == stages.GRADIENTS}
    return errors, sorted(noise - judged)


def _errors_by_rule(evidence: Evidence, context: Context, pairs: Sequence[StepPair], side: int) -> list[TensorError]:
    """Errors of one side by the rules that the context states; where it states none, by those that explain the left."""
    policy = context.statistics or _policy_of_left(pairs, evidence.eps)
    rules = StageRules(_combined_form(evidence, context), context.optimizer, context.moving_average, policy)
    units = _update_units(context, side)
    return [error for pair in pairs for error in rules.errors((pair.left, pair.right)[side], evidence.eps, units)]


def _combined_form(evidence: Evidence, context: Context) -> CombinedForm | None:
    stated = stated_form(context.combine, context.clip)
    if stated is not None:
        return stated
    left = evidence.combined_fits[0]
    return left.first if left is not None else None


def _policy_of_left(pairs: Sequence[StepPair], eps: float) -> str | None:
    """The one policy that explains the left's statistics, or None."""
    for policy in (FIRST_TOWER, MEAN_OF_TOWERS, LAST_TOWER):
        errors = [error for pair in pairs for error in check_statistics(pair.left, policy, eps)]
        if errors and not any(error.off for error in errors):
            return policy
    return None


def _update_units(context: Context, side: int) -> float:
    """Further roundings of an update by Keras's formulas, where a side says that it updates by them."""
    optimizer, about = context.optimizer, context.about.get(("left", "right")[side], {})
    texts = [text for row in about.items() for text in row]  # "update rules: keras", or "keras: 3.12" of a recorder
    keras = optimizer.keras_class() if optimizer is not None else None
    return keras.update_units if keras is not None and any("keras" in str(text).lower() for text in texts) else 0.0


def _errors_without_rule(pairs: Sequence[StepPair], ruled: set[Key], eps: float) -> Mapping[Key, list[TensorError]]:
    errors = [error for pair in pairs for stage in RULED for error in check_without_rule(pair, stage, eps)]
    return {key: found for key, found in group_errors(errors).items() if key not in ruled}


def _batch_deviations(evidence: Evidence) -> list[Deviation]:
    off = [batch for batch in evidence.batches if not batch.same]
    if not off:
        return []
    fact = f"{off[0].shared:.0%} of the examples are shared in step {off[0].step}"
    judged = tuple(batch.step for batch in evidence.batches)
    return [Deviation(stages.BATCH, "examples", tuple(b.step for b in off), judged, float("inf"), fact)]


def _other_masks(step: ComparedStep) -> Iterable[str]:
    for left, right in zip(step.left.masks, step.right.masks):
        yield from (name for name in left if name in right and not np.array_equal(left[name], right[name]))


def _mask_deviations(steps: Iterable[ComparedStep]) -> list[Deviation]:
    judged = [step.left.step for step in steps if step.left.masks and step.right.masks]
    off: dict[str, list[int]] = {}
    for step in steps:
        for name in dict.fromkeys(_other_masks(step)):
            off.setdefault(name, []).append(step.left.step)
    return [
        Deviation(stages.LOSS, f"{name} (dropout mask)", tuple(found), tuple(judged), float("inf"), "another mask")
        for name, found in off.items()
    ]


def _drift_deviations(steps: Iterable[ComparedStep]) -> list[Deviation]:
    off: dict[str, list[int]] = {}
    for step in steps:
        for name in dict.fromkeys(step.right.drift):  # a weight and its average have one name
            off.setdefault(name, []).append(step.right.step)
    judged = tuple(step.right.step for step in steps)
    fact = "the replicas' copies differ"
    return [
        Deviation(stages.STATISTICS, f"{name} (copies)", tuple(found), judged, float("inf"), fact)
        for name, found in off.items()
    ]


def _differing_stages(evidence: Evidence) -> list[str]:
    """Stages, in causal order, of tensors whose bits differ in any step."""
    found = set()
    for step in evidence.steps:
        right = {(stage, name): array for stage, name, array in stages.tensors(step.right)}
        for stage, name, array in stages.tensors(step.left):
            other = right.get((stage, name))
            if stage not in found and other is not None and not _identical(array, other):
                found.add(stage)
    return [stage for stage in stages.STAGES if stage in found]


def _identical(left: np.ndarray, right: np.ndarray) -> bool:
    return left.shape == right.shape and left.dtype == right.dtype and compare("", left, right).identical
