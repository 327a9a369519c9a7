"""Detection limits: the smallest relative scale error of each stage that a verification finds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from parity.causes.basics import injection
from parity.causes.update.learning_rate import ScaledSchedule
from parity.comparison import stages
from parity.comparison.runs.options import Companions, Criterion
from parity.comparison.runs.verification import verify
from parity.comparison.setup import exact_setup
from workloads.job import Job
from workloads.program import State, StepRecord
from workloads.selection import registry

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from modern.mirrored.step.training_step import PassResult
    from parity.causes.basics.injection import Change

#: Steps of a verification, each from legacy's state.
STEPS = 4

#: The largest and smallest errors that are tried, as negative exponents of ten.
LARGEST, SMALLEST = 1, 17

#: The parts of a `State` that a workload may lack.
OPTIONAL_PARTS = {stages.SLOTS: "slots", stages.STATISTICS: "statistics", stages.AVERAGES: "averages"}


def scale_changes(error: float) -> dict[str, Change]:
    """Returns {stage: change of the port that multiplies everything of that stage by 1 + error}."""
    return {
        stages.LOSS: injection.in_records(_scale_losses(1.0 + error)),
        stages.GRADIENTS: injection.in_replica_step(_scaling_gradients(1.0 + error)),
        stages.COMBINED: injection.in_replica_step(_scaling_combined(1.0 + error)),
        stages.RATE: injection.in_workload(_scale_learning_rate(1.0 + error)),
        stages.WEIGHTS: injection.in_records(_scale_state("weights", 1.0 + error)),
        stages.SLOTS: injection.in_records(_scale_state("slots", 1.0 + error)),
        stages.STATISTICS: injection.in_records(_scale_state("statistics", 1.0 + error)),
        stages.AVERAGES: injection.in_records(_scale_state("averages", 1.0 + error)),
    }


def _scale_losses(factor: float) -> Callable[[StepRecord], None]:
    def change(record: StepRecord) -> None:
        record.losses = [np.asarray(loss * factor, loss.dtype) for loss in record.losses]

    return change


def _scale_state(part: str, factor: float) -> Callable[[StepRecord], None]:
    def change(record: StepRecord) -> None:
        values = getattr(record.state, part)
        setattr(record.state, part, {n: np.asarray(value * factor, value.dtype) for n, value in values.items()})

    return change


def _scale_learning_rate(factor: float) -> Callable[[Job], dict[str, Any]]:
    return lambda job: {"learning_rate": ScaledSchedule(job.workload.learning_rate, factor)}


def _scaling_gradients(factor: float) -> type[injection.ScaledStep]:
    class ScalesGradients(injection.ScaledStep):
        def _forward_backward(self, local: LocalState, step: tf.Tensor, replica: int, batch: Tensors) -> PassResult:
            found = super()._forward_backward(local, step, replica, batch)
            return found._replace(gradients={name: value * factor for name, value in found.gradients.items()})

    return ScalesGradients


def _scaling_combined(factor: float) -> type[injection.ScaledStep]:
    class ScalesCombined(injection.ScaledStep):
        def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
            return {name: value * factor for name, value in super()._combine(context, gradients).items()}

    return ScalesCombined


def has_stage(state: State, stage: str) -> bool:
    """Returns whether a workload with this state has anything of the stage."""
    return stage not in OPTIONAL_PARTS or bool(getattr(state, OPTIONAL_PARTS[stage]))


def is_error_detected(job: Job, stage: str, error: float) -> bool | None:
    """Verifies a port with a scale error, each step from legacy's state, under the auto tolerance.

    Args:
      job: the training job.
      stage: the stage that is multiplied by 1 + error.
      error: the relative error.

    Returns:
      whether the verification fails; None if the workload has nothing of that stage.
    """
    setup = dataclasses.replace(exact_setup(job), port=scale_changes(error)[stage])
    with setup.legacy_program() as left, setup.modern_program() as right, setup.closing_references() as references:
        if not has_stage(left.state(), stage):
            return None
        return not verify(
            left, right, job, STEPS, Criterion("locked", "auto"), Companions(references=references)
        ).passed


def smallest_detected_error(workload_name: str, replicas: int, dtype: str, stage: str) -> float | None:
    """Searches the smallest scale error that is detected.

    Args:
      workload_name: a built-in workload.
      replicas: number of replicas.
      dtype: of the weights.
      stage: the stage with the error.

    Returns:
      a power of ten, or 0.3 of one; None if the workload has nothing of that stage.
    """
    job = Job(registry.get(workload_name), replicas, dtype=dtype)
    return search_smallest(lambda error: is_error_detected(job, stage, error))


def search_smallest(is_detected: Callable[[float], bool | None]) -> float | None:
    """Bisects the exponents of ten for the smallest error that is detected.

    An error larger than a detected one is taken to be detected too.

    Args:
      is_detected: tells whether an error is detected; None if it cannot occur.

    Returns:
      the smallest power of ten that is detected, or 0.3 of it if that is detected too; None if it cannot occur.
    """
    detected, missed = LARGEST, SMALLEST
    if is_detected(10.0**-detected) is None:
        return None
    while missed - detected > 1:
        middle = (detected + missed) // 2
        if is_detected(10.0**-middle):
            detected = middle
        else:
            missed = middle
    third = 0.3 * 10.0**-detected
    return third if is_detected(third) else 10.0**-detected
