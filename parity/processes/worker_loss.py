"""Training with parameter servers that loses a worker on the way."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workloads.support.processes import child_processes, child_side

if TYPE_CHECKING:
    from modern.multi_worker.cluster_config import Cluster
    from modern.options import ModernOptions
    from workloads.job import Job
    from workloads.sources import Source

#: Seconds in which the coordinator must say something.
SILENCE = 300.0

#: Standard deviations about the mean that count as within the spread.
DEVIATIONS = 3


class TrainingOutcome(NamedTuple):
    """The result of one run.

    Attributes:
      final_loss: mean loss of the last tenth of the steps.
      staleness: {staleness: number of updates that had it}.
    """

    final_loss: float
    staleness: dict[int, int]


def coordinate_training(
    speaker: child_side.Speaker,
    job: Job,
    make_source: Callable[[Job], Source],
    options: ModernOptions,
    cluster: Cluster,
    steps: int,
) -> None:
    """Runs as the coordinator's process: sends each step's mean loss, and at the end {staleness: updates}.

    Args:
      speaker: connection to the parent.
      job: the training job.
      make_source: function from a job to its batches.
      options: how the port runs.
      cluster: {job: addresses} of the servers.
      steps: number of steps.
    """
    from modern.multi_worker import local_servers
    from modern.multi_worker.parameter_server_program import ParameterServerProgram

    program = ParameterServerProgram(job, make_source(job), options, local_servers.coordinator_resolver(cluster))
    for _ in range(steps):
        losses = program.run(1)
        speaker.say(sum(map(float, losses)) / len(losses))
    speaker.say(dict(program.staleness))


def train_losing_worker(
    job: Job,
    make_source: Callable[[Job], Source],
    options: ModernOptions,
    parameter_servers: int,
    steps: int,
    kill_at: int | None = None,
) -> TrainingOutcome:
    """Trains with parameter servers and kills the last worker on the way.

    Args:
      job: the training job; one worker per replica.
      make_source: function from a job to its batches.
      options: how the port runs.
      parameter_servers: number of parameter servers.
      steps: number of steps.
      kill_at: step after which the worker is killed; None to keep it.

    Returns:
      the final loss and the staleness of the updates.

    Raises:
      Lost: the coordinator failed, or said nothing for `SILENCE` seconds.
    """
    from modern.multi_worker.local_servers import LocalServers

    with LocalServers(job.replicas, parameter_servers) as servers:
        arguments = (job, make_source, options, servers.cluster, steps)
        coordinator = child_processes.Child("coordinator", coordinate_training, arguments, exact=True)
        try:
            losses = []
            for step in range(steps):
                losses.append(coordinator.receive(SILENCE))
                if step == kill_at:
                    servers.children[f"worker {job.replicas - 1}"].kill()
            staleness = coordinator.receive(SILENCE)
        finally:
            coordinator.kill()
    last = max(1, steps // 10)
    return TrainingOutcome(sum(losses[-last:]) / last, staleness)


def within_spread(losses: Sequence[float], reference: Sequence[float]) -> bool:
    """Returns whether every loss lies within `DEVIATIONS` standard deviations of the reference's mean."""
    mean, deviation = statistics.mean(reference), statistics.stdev(reference)
    return all(abs(loss - mean) <= DEVIATIONS * deviation for loss in losses)
