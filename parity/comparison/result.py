"""Result of a comparison: the verdict, a summary of every stage, and the first tensor beyond its tolerance."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

from parity.comparison.difference import Difference
from parity.comparison.stage_summary import StageSummary
from parity.comparison.tour import Visit
from parity.layers.first_layer import FirstLayer


class Verdict(enum.Enum):
    """The answer of a comparison; the value is its text in JSON.

    NOT_SHOWN: everything that was compared agrees, but named choices of the job were not exercised, or lie below what
    the comparison can tell from rounding.
    """

    PARITY = "parity"
    NO_PARITY = "no parity"
    NOT_SHOWN = "not shown"

    @property
    def exit_status(self) -> int:
        """The exit status of a command that ends with this verdict; 2 is input that cannot be used."""
        return {Verdict.PARITY: 0, Verdict.NO_PARITY: 1, Verdict.NOT_SHOWN: 3}[self]


class Failure(NamedTuple):
    """A tensor beyond its tolerance.

    Attributes:
      step: number of the step.
      stage: one of `stages.STAGES`.
      difference: of the tensor.
      allowed: the `max_rel` that was allowed.
      precision: "float64" if both sides' float64 programs differ; empty for the run itself.
      fact: a sentence on the tensor, where it is not what the stage's rule makes of the recorded inputs; else empty.
    """

    step: int
    stage: str
    difference: Difference
    allowed: float
    precision: str = ""
    fact: str = ""


class Metric(NamedTuple):
    """A metric's mean on both sides.

    Attributes:
      legacy: of legacy.
      modern: of the port.
      examples: number of examples.
    """

    legacy: float
    modern: float
    examples: int


@dataclasses.dataclass
class Verification:
    """The result of a comparison.

    Attributes:
      tolerance_name: "exact" or "auto"; see `tolerance`.
      mode: "free" or "locked"; see `verify`.
      steps: number of steps compared.
      passed: everything that was compared agrees, under the tolerance.
      not_shown: the choices, with reasons, that nothing compared has exercised; see `verdict`.
      visits: names of the states outside of the run from which both sides took a step; see `tour`.
      first_layer: the layer in which the first difference begins, where taps show it; or None.
      failed_visit: the visit at which the first tensor went beyond its tolerance, or None.
      stages: {stage: `StageSummary`} in causal order, of the comparison that is judged.
      trajectory: the same along the free trajectories, where the lockstep replica is judged instead; else empty.
      diverged_at: step at which the trajectories diverged by more than rounding alone explains, or None.
      kinks: steps with a difference beyond its tolerance that rounding of the weights alone would make as large, as
        where an activation lies within rounding of a rectifier's kink; see `references`.
      double: {stage: `StageSummary`} of both sides' programs in float64, each step from legacy's state.
      single_only: why the mathematics was not judged in float64; empty if it was, or if bits were compared.
      unproven: reasons why a difference below float32's rounding is not ruled out; see `verdict`.
      half_precision: the 16-bit type that parts of the left side's steps compute in; "" for none, or not looked for.
      noise: "tensor (stage)" of those that float32 does not determine: they were judged in float64, or not at all.
      first: the first tensor beyond its tolerance, or None.
      beyond: (stage, name) of all tensors beyond their tolerances.
      mismatched: lines about variables that do not match; if any, no number was compared.
      drift: mirrored variables whose copies disagreed, with the step.
      races: variables, with the step, that another order of reads and updates explains.
      floor: {stage: {measure: distance}}, see `noise_floor`; empty if it was not measured.
      loss: of the left side in the last step, averaged over its replicas; None before the first.
      partial: the comparison was ended before its last step.
      metrics: {metric: its means after the last step}; empty where the workload has none.
    """

    tolerance_name: str
    mode: str
    steps: int = 0
    passed: bool = True
    stages: dict[str, StageSummary] = dataclasses.field(default_factory=dict)
    trajectory: dict[str, StageSummary] = dataclasses.field(default_factory=dict)
    diverged_at: int | None = None
    kinks: list[int] = dataclasses.field(default_factory=list)
    double: dict[str, StageSummary] = dataclasses.field(default_factory=dict)
    single_only: str = ""
    unproven: list[str] = dataclasses.field(default_factory=list)
    half_precision: str = ""
    noise: list[str] = dataclasses.field(default_factory=list)
    first: Failure | None = None
    beyond: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    mismatched: list[str] = dataclasses.field(default_factory=list)
    drift: list[str] = dataclasses.field(default_factory=list)
    races: list[str] = dataclasses.field(default_factory=list)
    floor: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)
    not_shown: list[str] = dataclasses.field(default_factory=list)
    visits: list[str] = dataclasses.field(default_factory=list)
    failed_visit: Visit | None = None
    first_layer: FirstLayer | None = None
    loss: float | None = None
    partial: bool = False
    metrics: dict[str, Metric] = dataclasses.field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """The answer: parity only if all that was compared agrees and nothing that matters was left out."""
        if not self.passed:
            return Verdict.NO_PARITY
        return Verdict.NOT_SHOWN if self.not_shown or self.unproven else Verdict.PARITY

    @property
    def has_identical_bits(self) -> bool:
        """Whether at least one step was compared, and every element of every tensor has the same bits."""
        differing = any(summary.differing_elements for summary in self.stages.values())
        return self.passed and self.steps > 0 and not differing

    def add_failures(self, failures: Sequence[Failure]) -> None:
        """Ends parity if there are failures, and keeps the first of all steps."""
        if failures:
            self.passed = False
            self.first = self.first or failures[0]
            self.beyond |= {(failure.stage, failure.difference.name) for failure in failures}

    def to_json(self) -> dict[str, Any]:
        """Returns the result for the report."""
        first = None
        if self.first is not None:
            first = {**self.first._asdict(), "difference": dataclasses.asdict(self.first.difference)}
        return {
            "verdict": self.verdict.value,
            "not_shown": self.not_shown,
            "visits": self.visits,
            "tolerance": self.tolerance_name,
            "mode": self.mode,
            "steps": self.steps,
            "partial": self.partial,
            "first_failure": first,
            "first_layer": None if self.first_layer is None else self.first_layer.to_json(),
            "mismatched_variables": self.mismatched,
            "replica_drift": self.drift,
            "stages": {name: stage.to_json() for name, stage in self.stages.items()},
            "trajectory": {name: stage.to_json() for name, stage in self.trajectory.items()},
            "trajectories_part_at": self.diverged_at,
            "kinks": self.kinks,
            "double": {name: stage.to_json() for name, stage in self.double.items()},
            "single_only": self.single_only,
            "unproven": self.unproven,
            "half_precision": self.half_precision,
            "noise": self.noise,
            "races": self.races,
            "floor": self.floor,
            "metrics": {name: metric._asdict() for name, metric in self.metrics.items()},
        }
