"""Scaling towards many machines: step times from one replica's step and the time of an all-reduce."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Optional

from parity.prediction import collectives
from parity.prediction.machines.machine import Link, Machine
from parity.prediction.published import PublishedScaling
from workloads.support.errors import require

#: Numbers of replicas.
COUNTS = (8, 16, 32, 64, 128, 256, 512, 1024)

#: Share of a step that is the backward pass, behind which an all-reduce may be hidden: two of three equal parts.
BACKWARD = 2 / 3

#: Bytes of a float32.
FLOAT = 4

RING, TREE, HIERARCHICAL = ALGORITHMS = ("ring", "tree", "hierarchical")


class Cluster(NamedTuple):
    """Equal machines in a network.

    Attributes:
      inner: replicas in a machine.
      inside: link of a replica inside its machine.
      between: link of a machine to the network; None for one machine.
    """

    inner: int
    inside: Link
    between: Optional[Link]


def cluster_of(machine: Machine) -> Cluster:
    """Returns the cluster of machines that are like one.

    Raises:
      InputError: the machine has no network.
    """
    require(machine.network is not None, "--devices", machine.name, "must have a network")
    return Cluster(machine.count, machine.collective_link, machine.network)


def all_reduce_seconds(size: float, replicas: int, cluster: Cluster, algorithm: str) -> float:
    """Returns the seconds of an all-reduce over the replicas of a cluster.

    A ring and a tree over all replicas run at the pace of the network, of which each machine has one connection: its
    replicas stand next to each other in the ring, so that the connection carries the ring once; in the tree, the levels
    inside a machine use its own links.

    Args:
      size: bytes of the gradients.
      replicas: number of replicas.
      cluster: where they are.
      algorithm: one of `ALGORITHMS`.

    Returns:
      the seconds.
    """
    inner = min(replicas, cluster.inner)
    outer = -(-replicas // cluster.inner)
    between = cluster.between
    if outer == 1 or between is None:
        formula = collectives.tree_seconds if algorithm == TREE else collectives.ring_seconds
        return formula(size, inner, cluster.inside)
    if algorithm == RING:
        slower = min(between, cluster.inside, key=lambda link: link.bandwidth)
        latency = max(between.latency, cluster.inside.latency)
        return collectives.ring_seconds(size, replicas, Link(slower.name, slower.bandwidth, latency))
    if algorithm == TREE:
        inside = collectives.tree_seconds(size, inner, cluster.inside)
        return inside + collectives.tree_seconds(size, outer, between)
    return collectives.hierarchical_seconds(size, inner, outer, cluster.inside, between)


class ScalingPoint(NamedTuple):
    """The speed of a workload on a number of replicas.

    Attributes:
      replicas: their number.
      algorithm: of the all-reduce.
      all_reduce: its seconds.
      examples_per_second: of all replicas together.
      efficiency: examples a second of a replica, relative to one replica by itself.
    """

    replicas: int
    algorithm: str
    all_reduce: float
    examples_per_second: float
    efficiency: float


@dataclasses.dataclass(frozen=True)
class OneReplica:
    """A workload on one replica.

    Attributes:
      workload: its name.
      batch: examples of a replica in one step.
      size: bytes of the gradients.
      seconds_of: function from a batch to the seconds of a step on one replica; called often, so it should be cached.
    """

    workload: str
    batch: int
    size: float
    seconds_of: Callable[[int], float]


def weak_scaling(one: OneReplica, cluster: Cluster, counts: Sequence[int] = COUNTS) -> Iterator[ScalingPoint]:
    """Yields the speed where each replica keeps its batch; the all-reduce follows the backward pass, as in the port.

    Args:
      one: the workload on one replica.
      cluster: where the replicas are.
      counts: numbers of replicas.

    Yields:
      a point for each number and algorithm.
    """
    for replicas in counts:
        for algorithm in ALGORITHMS:
            yield _point(one, one.batch, replicas, cluster, algorithm)


def strong_scaling(one: OneReplica, cluster: Cluster, counts: Sequence[int] = COUNTS) -> Iterator[ScalingPoint]:
    """Yields the speed where the global batch is that of the first number of replicas, as long as it can be divided.

    Args:
      one: the workload on one replica.
      cluster: where the replicas are.
      counts: numbers of replicas.

    Yields:
      a point for each number and algorithm.
    """
    whole = one.batch * counts[0]
    for replicas in counts:
        if whole % replicas == 0:
            for algorithm in ALGORITHMS:
                yield _point(one, whole // replicas, replicas, cluster, algorithm)


def _point(one: OneReplica, batch: int, replicas: int, cluster: Cluster, algorithm: str) -> ScalingPoint:
    """A point of a curve, on which each replica has `batch` examples."""
    reduce = all_reduce_seconds(one.size, replicas, cluster, algorithm)
    speed = replicas * batch / (one.seconds_of(batch) + reduce)
    alone = one.batch / one.seconds_of(one.batch)  # examples a second of one replica by itself
    return ScalingPoint(replicas, algorithm, reduce, speed, speed / replicas / alone)


class Band(NamedTuple):
    """Efficiency without overlap, and with as much of the all-reduce as possible hidden behind the backward pass."""

    low: float
    high: float


def published_band(published: PublishedScaling, algorithm: str = HIERARCHICAL) -> Band:
    """Predicts the efficiency of a published measurement from the rate of one replica by itself.

    Args:
      published: the measurement.
      algorithm: of the all-reduce.

    Returns:
      the efficiency, relative to the same number of replicas as the measured one.
    """
    cluster = Cluster(published.inner, published.inside, published.between)
    alone, size = published.batch / published.rate, FLOAT * published.parameters
    replicas = published.inner * published.outer

    def seconds(count: int, hidden: float) -> float:
        reduce = all_reduce_seconds(size, count, cluster, algorithm) if count > 1 else 0.0
        return alone + max(0.0, reduce - hidden)

    return Band(*(seconds(published.start, part) / seconds(replicas, part) for part in (0.0, BACKWARD * alone)))
