"""The choices that tower programs made differently, as one frozen record."""

from __future__ import annotations

import dataclasses
from typing import Tuple

from workloads.support.errors import require

INPUTS = ("feed", "split", "queue", "dataset", "resident")
VARIABLES = ("cpu", "tower")
AVERAGES = ("stack", "add_n", "add_n_reciprocal")
UPDATES = ("sync", "async")


@dataclasses.dataclass(frozen=True)
class LegacyOptions:
    """Options of the tower graph: how it is built.

    Attributes:
      input: "feed" (a placeholder set per tower), "split" (one, cut by `tf.split`), "queue" (a prefetch queue
        filled by a queue runner), "dataset" (a `tf.data` iterator), "resident" (variables on the towers).
      variables: on the "cpu", or on the first "tower"'s device.
      average: combine gradients by "stack" and `reduce_mean`, by "add_n" and a division, or by "add_n_reciprocal".
      pin_towers_to_cpu: a fault of old programs: `tf.device('/cpu:0')` inside the tower loop.
      pin_backward: whether that device is still open where the gradients are computed; else a pinned tower's backward
        pass runs on the tower's device.
      updates: "sync" (one update from all towers' gradients), or "async" (each tower applies its own, in a thread
        of its own).
      placement: "towers" (a tower a device), or "layers" (the model's layers divided among the devices; towers are
        then micro-batches, which all go through all devices).
      exact: Grappler off, so that the kernels are the graph's own.
      taps: patterns of the tensors inside the model that are recorded; see `workloads.taps`.
    """

    input: str = "feed"
    variables: str = "cpu"
    average: str = "stack"
    pin_towers_to_cpu: bool = False
    pin_backward: bool = True
    updates: str = "sync"
    placement: str = "towers"
    exact: bool = False
    taps: Tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(self.input in INPUTS, "--legacy_input", self.input, "allowed: " + ", ".join(INPUTS))
        require(self.variables in VARIABLES, "--legacy_variables", self.variables, "allowed: " + ", ".join(VARIABLES))
        require(self.updates in UPDATES, "--updates", self.updates, "allowed: " + ", ".join(UPDATES))
        require(self.average in AVERAGES, "--legacy_average", self.average, "allowed: " + ", ".join(AVERAGES))
