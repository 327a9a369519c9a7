"""Curves of a prediction: step time of both sides of a job against its number of replicas, and possible speedups."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.comparison.setup import Setup
    from parity.prediction.machines.machine import Machine
    from parity.prediction.prediction import Prediction
    from parity.prediction.what_if import Gain
    from parity.speed.timing import Progress

#: Growth with the number of replicas: each keeps its batch, or the global batch is kept.
WEAK, STRONG = SCALINGS = ("weak", "strong")


class JobPrediction(NamedTuple):
    """The prediction of a job.

    Attributes:
      setup: the job.
      machine: the machine.
      scaling: one of `SCALINGS`.
      curves: {side: {number of replicas: prediction}}.
      gains: {side: gain of each change of the machine}, at the job's own number of replicas.
    """

    setup: Setup
    machine: Machine
    scaling: str
    curves: Mapping[str, Mapping[int, Prediction]]
    gains: Mapping[str, Sequence[Gain]]

    def to_json(self) -> dict[str, Any]:
        """Returns the prediction for `--json`; times in seconds."""
        return {
            "workload": self.setup.job.workload.name,
            "job": self.setup.job.describe(),
            "machine": self.machine.to_json(),
            "scaling": self.scaling,
            "predictions": {side: [row.to_json() for row in curve.values()] for side, curve in self.curves.items()},
            "gains": {side: {row.change: row.gain for row in rows} for side, rows in self.gains.items()},
        }


def predict_job(
    setup: Setup, machine: Machine, sides: Sequence[str], scaling: str, progress: Progress
) -> JobPrediction:
    """Predicts both sides of a job at each number of replicas, and the changes that would make them faster.

    Args:
      setup: the job.
      machine: the machine.
      sides: "legacy", "modern", or both.
      scaling: one of `SCALINGS`.
      progress: called with (text, number done, number in all).

    Returns:
      the prediction.
    """
    from parity.prediction.prediction import step_graph
    from parity.prediction.what_if import gains

    curves = predict_curves(setup, machine, sides, scaling, progress)
    found = {}
    for side in sides:
        progress(f"{side}: what would help", 0, 0)
        found[side] = gains(step_graph(setup, side, machine), machine)
    return JobPrediction(setup, machine, scaling, curves, found)


def predict_curves(
    setup: Setup, machine: Machine, sides: Sequence[str], scaling: str, progress: Progress
) -> dict[str, dict[int, Prediction]]:
    """Predicts each side at each number of replicas.

    Args:
      setup: the job.
      machine: the machine.
      sides: "legacy", "modern", or both.
      scaling: one of `SCALINGS`.
      progress: called with (text, number done, number in all).

    Returns:
      {side: {number of replicas: prediction}}.
    """
    from parity.prediction.prediction import predict_step

    counts = replica_counts(setup, machine, scaling)
    curves: dict[str, dict[int, Prediction]] = {side: {} for side in sides}
    for number, (side, count) in enumerate(itertools.product(sides, counts)):
        progress(f"{side}, {counted(count, 'replica')}", number, len(sides) * len(counts))
        curves[side][count] = predict_step(with_replicas(setup, count, scaling), side, machine)
    return curves


def replica_counts(setup: Setup, machine: Machine, scaling: str) -> list[int]:
    """Returns the numbers of replicas to predict: 1, 2, 4, ... and the job's; a lift has its towers only.

    Args:
      setup: the job.
      machine: has a device for each replica.
      scaling: "strong" leaves out numbers that do not divide the global batch.

    Returns:
      the numbers, in ascending order.
    """
    replicas = setup.job.replicas
    if setup.job.workload.is_lifted:
        return [replicas]
    counts = {1 << power for power in range(machine.count.bit_length()) if 1 << power <= machine.count}
    if scaling == STRONG:
        counts = {count for count in counts if setup.job.global_batch % count == 0}
    return sorted(counts | {replicas})


def with_replicas(setup: Setup, replicas: int, scaling: str) -> Setup:
    """Returns a setup with another number of replicas.

    Args:
      setup: the job.
      replicas: number of replicas.
      scaling: "weak": each replica keeps its batch; "strong": the global batch is kept.

    Returns:
      the setup.
    """
    batch = setup.job.global_batch if scaling == STRONG else setup.job.per_replica_batch * replicas
    return dataclasses.replace(setup, job=dataclasses.replace(setup.job, replicas=replicas, global_batch=batch))
