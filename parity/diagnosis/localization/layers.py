"""The first layer in which two recorded runs differ, from the taps of a step that both took from the same state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from parity.comparison import stages
from parity.comparison.difference import Difference, compare
from parity.comparison.judging import tolerance
from parity.diagnosis.evidence import Evidence, measured_once
from parity.diagnosis.steps.compared_step import ComparedStep
from parity.layers.first_layer import FirstLayer, find_first_layer
from workloads.taps import is_input, is_tapped

#: Factor on the difference that equal kernels may have in one step, for runs of other kernels or frameworks.
MARGIN = 16.0


class _Gap(NamedTuple):
    """One tensor of a step, its difference, and the `max_rel` that other kernels explain."""

    stage: str
    name: str
    difference: Difference
    allowed: float


def first_layer_of_steps(steps: Sequence[ComparedStep], patterns: Sequence[str] = ("*",)) -> FirstLayer | None:
    """Returns the layer in which the difference of two runs begins.

    Args:
      steps: of both runs.
      patterns: of the taps to look at; see `workloads.taps.is_tapped`.

    Returns:
      the layer; None where the runs have no taps in common, or no layer stands out.
    """
    for step in steps:
        taps = [name for name in stages.common_taps(step.left, step.right) if is_tapped(name, patterns)]
        taps = [name for name in taps if _have_one_shape(step, name)]
        if not taps or not step.same_state:
            continue
        gaps = list(_gaps(step, taps))
        beyond = _different_bits(gaps) if _share_kernels(gaps, taps) else []
        beyond = beyond or [(gap.stage, gap.name) for gap in gaps if gap.difference.max_rel > gap.allowed]
        if beyond:
            return find_first_layer(stages.differing_tensors(beyond), taps, step.left, step.right)
    return None


@measured_once
def find_diverging_layer(evidence: Evidence) -> FirstLayer | None:
    """Returns the layer in which both sides' passes diverge, from recorded taps or from a step taken again with taps.

    None also where the batches or the passes agree to rounding, or where nothing can be taken again.
    """
    recorded = first_layer_of_steps(evidence.steps)
    if recorded is not None or evidence.retake_with_taps is None:
        return recorded
    other_batch = {batch.step for batch in evidence.batches if not batch.same}
    found = [entry for entry in evidence.deviations.found if entry.stage in (stages.LOSS, stages.GRADIENTS)]
    off = {number for entry in found for number in entry.steps} - other_batch
    step = next((step for step in evidence.steps if step.left.step in off), None)
    if step is None:
        return None
    before = step.left_before
    return first_layer_of_steps([ComparedStep(*evidence.retake_with_taps(before), before, before, locked=True)])


def _gaps(step: ComparedStep, taps: Sequence[str]) -> Iterator[_Gap]:
    gradients = stages.common_tap_gradients(taps, step.left, step.right)
    right = {(stage, name): array for stage, name, array in stages.tensors(step.right, taps, gradients)}
    replicas = max(len(step.left.losses), 1)
    for stage, name, array in stages.tensors(step.left, taps, gradients):
        other = right.get((stage, name))
        if other is None or stage == stages.BATCH or array.shape != other.shape or array.dtype.kind != "f":
            continue
        allowed = MARGIN * tolerance.auto(stage, array.dtype, replicas, 0)
        yield _Gap(stage, name, compare(name, array, np.asarray(other, array.dtype)), allowed)


def _share_kernels(gaps: Sequence[_Gap], taps: Sequence[str]) -> bool:
    """Whether both sides' kernels give the same bits: the first tensor that is computed has the same on both."""
    first = next((name for name in taps if not is_input(name)), taps[0])
    found = [gap for gap in gaps if gap.stage == stages.ACTIVATIONS and gap.name.startswith(first + " on ")]
    return bool(found) and all(gap.difference.identical for gap in found)


def _different_bits(gaps: Sequence[_Gap]) -> list[tuple[str, str]]:
    return [(gap.stage, gap.name) for gap in gaps if not gap.difference.identical]


def _have_one_shape(step: ComparedStep, name: str) -> bool:
    shapes = {np.shape(taps[name]) for taps in (*step.left.taps, *step.right.taps)}
    return len(shapes) == 1
