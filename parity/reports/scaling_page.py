"""The page docs/scaling.md: weak and strong scaling of the workloads, beside published measurements."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.comparison.setup import Setup
from parity.prediction.machines.built_in import MACHINES
from parity.prediction.machines.machine import Machine
from parity.prediction.port_graph import port_step_graph
from parity.prediction.prediction import predict
from parity.prediction.published import PUBLISHED
from parity.prediction.scaling import (
    ALGORITHMS,
    COUNTS,
    HIERARCHICAL,
    RING,
    OneReplica,
    ScalingPoint,
    cluster_of,
    published_band,
    strong_scaling,
    weak_scaling,
)
from parity.prediction.shapes import parameter_bytes
from parity.prediction.step_graph import StepGraph
from workloads.job import Job
from workloads.selection import registry
from workloads.sources import Synthetic

#: Replicas of the write-ups' largest machine, which gives the batch of a replica.
WRITE_UPS_REPLICAS = 4

INTRODUCTION = """# Scaling towards many machines

Made by `{command}`.

Nothing on this page was measured here: a step of one replica is predicted (see [predict.md](predict.md)), and the
all-reduce of its gradients is a formula of latency and bandwidth (`parity/prediction/collectives.py`). The step waits
for the whole all-reduce, as the port's does.

- *ring*: one ring over all replicas; a machine's connection to the network carries it once. 2 (p - 1) messages.
- *tree*: reduce and broadcast along a binomial tree, inside a machine by its own links, between machines by the
  network.
- *hierarchical*: reduce-scatter inside each machine, ring or halving and doubling between machines, all-gather inside.

*Efficiency* is the examples per second of a replica, relative to one replica by itself. Weak scaling: a replica keeps
its batch. Strong scaling: the global batch stays that of {first} replicas, until a replica would have less than one
example.
"""

LIMITS = """## What it cannot show

- Congestion, stragglers, and the input: every replica takes the same time, and has its batch when it needs it.
- Overlap of the all-reduce with the backward pass, which the libraries above have and the port does not; the band in
  the first table shows how much it can hide.
- Whether so large a batch still trains: that is a question of optimization, not of speed.
- Parameter servers: the published runs that used them are compared with an all-reduce.
"""


def scaling_page(machines: Sequence[Machine], workloads: Sequence[str], size: str, command: str) -> Iterator[str]:
    """Yields the page, part by part, as Markdown.

    Args:
      machines: each as one of a cluster of its like.
      workloads: names of the workloads.
      size: "small" or "seed".
      command: the command that makes the page.

    Yields:
      the parts.
    """
    yield INTRODUCTION.format(command=command, first=COUNTS[0])
    yield "\n".join(published_lines())
    for machine in machines:
        yield "\n".join(_machine_lines(machine, workloads, size))
    yield LIMITS


def published_lines() -> Iterator[str]:
    """Yields the section that compares the formulas with published measurements."""
    yield "## Beside published measurements"
    yield ""
    yield "Predicted: from the published rate of one replica and the size of the model; first without overlap, then"
    yield "with as much of the all-reduce hidden as the backward pass (two thirds of a step) can hide."
    yield ""
    yield "| model | replicas | batch | exchange | network | measured | predicted | inside |"
    yield "|---|---|---|---|---|---|---|---|"
    inside = 0
    for row in PUBLISHED:
        band = published_band(row, RING if row.how == "ring" else HIERARCHICAL)
        within = band.low <= row.efficiency <= band.high
        inside += within
        replicas = f"{row.start} → {row.inner * row.outer}"
        network = row.between.name if row.between else row.inside.name
        yield (
            f"| {row.model} | {replicas} | {row.batch} | {row.how} | {network} | {row.efficiency:.2f} "
            f"| {band.low:.2f} to {band.high:.2f} | {'yes' if within else 'no'} |"
        )
    yield ""
    yield f"{inside} of {len(PUBLISHED)} measurements lie inside the band. Sources:"
    yield ""
    for source in dict.fromkeys(row.source for row in PUBLISHED):
        yield f"- {source}"
    yield ""


def _machine_lines(machine: Machine, workloads: Sequence[str], size: str) -> Iterator[str]:
    cluster = cluster_of(machine)
    between = cluster.between.name if cluster.between else "none"
    yield f"## {machine.name}: {cluster.inner} in a machine ({cluster.inside.name}), {between} between machines"
    yield ""
    alone = [_one_replica(name, size, machine) for name in workloads]
    for title, curve in (("Weak scaling", weak_scaling), ("Strong scaling", strong_scaling)):
        yield f"### {title}"
        yield ""
        yield "| workload | batch | gradients, MB | algorithm | " + " | ".join(str(count) for count in COUNTS) + " |"
        yield "|---" * (4 + len(COUNTS)) + "|"
        for one in alone:
            yield from _workload_lines(one, list(curve(one, cluster)))
        yield ""


def _workload_lines(one: OneReplica, points: Sequence[ScalingPoint]) -> Iterator[str]:
    """A row of efficiencies for each algorithm."""
    for algorithm in ALGORITHMS:
        of_count = {point.replicas: point for point in points if point.algorithm == algorithm}
        cells = [f"{of_count[count].efficiency:.2f}" if count in of_count else "" for count in COUNTS]
        first = f"| {one.workload} | {one.batch} | {one.size / 1e6:.1f} " if algorithm == ALGORITHMS[0] else "| | | "
        yield f"{first}| {algorithm} | {' | '.join(cells)} |"


def _one_replica(name: str, size: str, machine: Machine) -> OneReplica:
    job = Job(registry.get(name, size), WRITE_UPS_REPLICAS)

    def seconds_of(batch: int) -> float:
        return predict(_graph_of_one(name, size, batch), machine).seconds

    return OneReplica(name, job.per_replica_batch, parameter_bytes(job), functools.lru_cache(maxsize=None)(seconds_of))


@functools.lru_cache(maxsize=None)
def _graph_of_one(name: str, size: str, batch: int) -> StepGraph:
    """The step of the port on one accelerator, of whatever kind."""
    options = ModernOptions(all_reduce="auto", variables="mirrored")
    setup = Setup(Job(registry.get(name, size), 1, batch), Synthetic, LegacyOptions(), options, "cpu")
    return port_step_graph(setup, MACHINES["p100"])
