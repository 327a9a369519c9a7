"""Predictions of alternatives on the devices that the write-ups had, by `parity.prediction`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from parity.experiments.studies.alternatives.alternative import Alternative
from parity.prediction.machines.selection import machine_named
from parity.prediction.prediction import predict, step_graph

#: The reader's warning.
PREDICTED = (
    "Predictions price the graph's ops by TensorFlow's cost model and public figures of the devices; nothing was "
    "fitted to the write-ups' results, and no prediction was checked on such a device (`python -m parity.predict`)."
)


class PredictedStep(NamedTuple):
    """The predicted step of an alternative.

    Attributes:
      machine: such as "gtx1060x2".
      seconds: of one step.
      bytes_crossing: bytes that cross between devices in it.
    """

    machine: str
    seconds: float
    bytes_crossing: float


def predict_alternative(alternative: Alternative, machines: Sequence[str]) -> dict[str, PredictedStep]:
    """Predicts the step of an alternative.

    Args:
      alternative: its own devices do not count, and nothing of it is run.
      machines: with accelerators, such as ["gtx1060x2"]; each has a device for every replica.

    Returns:
      {machine: step}.
    """
    found = [machine_named(name) for name in machines]
    graph = step_graph(alternative.setup, alternative.side, found[0])  # names of devices are all that it takes from it
    steps = [predict(graph, machine) for machine in found]
    return {step.machine: PredictedStep(step.machine, step.seconds, sum(step.crossing.values())) for step in steps}
