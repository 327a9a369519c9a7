"""Collects evidence: steps two programs, or reads two recordings, and keeps the step records and states."""

from __future__ import annotations

import functools
from collections.abc import Callable

from parity.comparison.sparse_gradients import with_dense_gradients
from parity.diagnosis.context.job_context import Context, context_of_recording
from parity.diagnosis.evidence import Evidence
from parity.diagnosis.steps.comparable import (
    HINT,
    comparable_record,
    require_comparable_states,
    with_as_many_losses,
)
from parity.diagnosis.steps.compared_step import ComparedStep
from workloads.program import Program, State, StepRecord
from workloads.records.reader import Recording
from workloads.support.errors import require

#: Steps of a diagnosis: along two free trajectories first, then each from the left side's state.
FREE, LOCKED = 10, 3

#: Relative precision to which another framework's constants are the towers': these are float32 numbers in any run, and
#: a loss or gradient is off by a part of that.
CONSTANTS_EPS = 2.0**-28

#: More steps than these tell nothing new; so many first ones, and as many last ones as there is room for, are kept.
MOST_STEPS, MOST_BYTES, FIRST = 60, 4 << 30, 5


def collect_evidence(
    left: Program,
    right: Program,
    context: Context,
    free: int = FREE,
    locked: int = LOCKED,
    align: Callable[[StepRecord, StepRecord], StepRecord] | None = None,
) -> Evidence:
    """Steps both programs and returns `Evidence`.

    Args:
      left, right: programs at their first state.
      context: choices of the left side's job.
      free: number of steps that each takes from its own state.
      locked: number of steps after those, which the right takes from the left's state; 0 if it cannot be loaded.
      align: returns the right one of a step's two records, as it is to be compared with the left one; or None.

    Returns:
      evidence of the steps; of many, the first and the last.
    """
    evidence = Evidence(context, left.state(), right.state(), [])
    left_before, right_before = evidence.left, evidence.right
    for number in range(free + locked):
        if number >= free:
            right.load(left_before)
            right_before = left_before
        left_record, right_record = left.step(), right.step()
        if align is not None:
            right_record = align(left_record, right_record)
            left_record = with_as_many_losses(left_record, right_record)
        step = ComparedStep(left_record, right_record, left_before, right_before, number >= free)
        evidence.steps.append(step)
        left_before, right_before = step.left.state, step.right.state
        if len(evidence.steps) > most_steps(evidence.left, evidence.replicas):
            del evidence.steps[FIRST]
    if locked:
        evidence.retake_last_step = lambda: _retake(right, evidence.steps[-1].right_before)
    return evidence


def most_steps(state: State, replicas: int) -> int:
    """Returns the number of steps that are kept at once, each with both sides' gradients, slots and weights.

    Never less than a diagnosis takes (`FREE`), whatever they need.
    """
    size = sum(value.nbytes for arrays in (state.weights, state.slots) for value in arrays.values())
    return int(max(FREE, min(MOST_STEPS, MOST_BYTES // (2 * size * (replicas + 2) or 1))))


def _retake(program: Program, state: State) -> StepRecord:
    program.load(state)
    return with_dense_gradients(program.step())


def evidence_of_recordings(left: Recording, right: Recording, steps: int = 0) -> Evidence:
    """Reads two recordings and returns `Evidence`.

    Args:
      left, right: open recordings at their first step.
      steps: number of steps to read; 0 for all that both hold.

    Returns:
      evidence of steps that each side took from its own state.

    Raises:
      InputError: they have no step, or no weight, in common.
    """
    common = min(left.steps, right.steps, steps or left.steps)
    require(common >= 1, "--right", right.path, "both recordings must hold at least one step")
    shapes = {spec.name: spec.shape for spec in left.variables()}
    matching = [spec for spec in right.variables() if shapes.get(spec.name) == spec.shape]
    listed = ", ".join(sorted(shapes)[:4])
    require(matching, "--right", right.path, f"no variable has a name and shape of --left's, such as {listed}; {HINT}")
    about = {"left": left.describe(), "right": right.describe()}
    require_comparable_states(right.path, left.state(), right.state())
    align = functools.partial(comparable_record, right.path)
    context = context_of_recording(left.manifest.get("job", {}), about)
    evidence = collect_evidence(left, right, context, common, 0, align)
    if "workload.name" not in right.manifest.get("job", {}):  # another framework's
        evidence.least_eps = CONSTANTS_EPS
    return evidence
