"""Study of scaling: the networks, both sides on several replicas, and their predicted throughput."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from legacy.options import LegacyOptions
from modern.options import ModernOptions
from parity.comparison.setup import Setup
from parity.experiments.studies.alternatives.alternative import Alternative
from parity.experiments.studies.alternatives.predicted import predict_alternative
from parity.speed.names import LEGACY, MODERN
from workloads import sources
from workloads.job import Job
from workloads.selection import registry

SIDES = {LEGACY: "towers", MODERN: "port"}


#: Steps in one call of the port, as predicted: the default of its commands.
PREDICTED_STEPS_PER_CALL = 100


class Net(NamedTuple):
    """A network and its batch.

    Attributes:
      workload: its name.
      size: "small" or "seed".
      batch: examples of a replica.
    """

    workload: str
    size: str
    batch: int


#: Machines to predict for, with four devices each.
MACHINES = ("k80x4", "gtx1080tix4", "p100x4", "v100x4")


class Predictions(NamedTuple):
    """Predicted examples a second of one side, each replica with the write-up's batch.

    Attributes:
      side: "towers" or "port".
      examples: {machine: {number of replicas: examples a second}}.
    """

    side: str
    examples: Mapping[str, Mapping[int, float]]


def alternative(net: Net, side: str, replicas: int, steps_per_call: int = 1) -> Alternative:
    """Makes the job on some replicas.

    Args:
      net: the network.
      side: "legacy" or "modern".
      replicas: their number.
      steps_per_call: of the port.

    Returns:
      the alternative, with a resident batch.
    """
    job = Job(registry.get(net.workload, net.size), replicas, replicas * net.batch)
    modern = ModernOptions(variables="auto", steps_per_call=steps_per_call)
    setup = Setup(job, sources.Resident, LegacyOptions(input="resident"), modern, "cpu")
    name = f"port, {steps_per_call} a call" if steps_per_call > 1 else row_name(side, replicas)
    return Alternative(name, side, setup)


def row_name(side: str, replicas: int) -> str:
    """Returns the name of a side on some replicas.

    >>> row_name("modern", 2)
    'port, 2'
    """
    return f"{SIDES[side]}, {replicas}"


def predict_side(net: Net, side: str, counts: Sequence[int], machines: Sequence[str]) -> Predictions:
    """Predicts a side on some replicas; the port takes as many steps a call as its commands do.

    Args:
      net: the network.
      side: "legacy" or "modern".
      counts: numbers of replicas.
      machines: to predict for.

    Returns:
      the predictions.
    """
    examples: dict[str, dict[int, float]] = {machine: {} for machine in machines}
    for count in counts:
        steps = predict_alternative(alternative(net, side, count, PREDICTED_STEPS_PER_CALL), machines)
        for machine, step in steps.items():
            examples[machine][count] = count * net.batch / step.seconds
    return Predictions(SIDES[side], examples)
