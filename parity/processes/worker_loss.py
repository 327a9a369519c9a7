"""Training with parameter servers that loses a worker on the way."""

from __future__ import annotations

import statistics

from workloads.support import child_processes

#: Seconds in which the coordinator must say something.
SILENCE = 300.0


def train(speaker, job, make_source, options, cluster, steps):
    """The coordinator: says its losses step by step, and at the end how late its updates were."""
    from modern.multi_worker import local_servers
    from modern.multi_worker.parameter_server_program import ParameterServerProgram

    program = ParameterServerProgram(job, make_source(job), options, local_servers.coordinator_resolver(cluster))
    for _ in range(steps):
        losses = program.run(1)
        speaker.say(sum(map(float, losses)) / len(losses))
    speaker.say(dict(program.staleness))


def run(job, make_source, options, parameter_servers, steps, kill_at=None):
    """(final loss, {staleness: updates}) of one run; a worker is killed after step `kill_at`."""
    from modern.multi_worker.local_servers import LocalServers

    with LocalServers(job.replicas, parameter_servers) as started:
        arguments = (job, make_source, options, started.cluster, steps)
        coordinator = child_processes.Child("coordinator", train, arguments, exact=True)
        try:
            losses = []
            for step in range(steps):
                losses.append(coordinator.receive(SILENCE))
                if step == kill_at:
                    started.children[f"worker {job.replicas - 1}"].kill()
            late = coordinator.receive(SILENCE)
        finally:
            coordinator.kill()
    last = max(1, steps // 10)
    return sum(losses[-last:]) / last, late


def within(lost, whole):
    """Whether every loss of `lost` lies within the spread of `whole`: three deviations about its mean."""
    mean, deviation = statistics.mean(whole), statistics.stdev(whole)
    return all(abs(loss - mean) <= 3 * deviation for loss in lost)
