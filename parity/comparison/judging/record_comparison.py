"""Comparison of two records: each tensor must be within its tolerance, or within the measured effect of rounding."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from parity.comparison import stages
from parity.comparison.difference import Difference, compare
from parity.comparison.history import History
from parity.comparison.judging import tolerance
from parity.comparison.judging.reference_magnitude import ReferenceMagnitudes
from parity.comparison.references import Response
from parity.comparison.result import Failure
from parity.comparison.stage_summary import StageSummary
from parity.comparison.stages import StageTensor
from workloads.program import StepRecord
from workloads.support.errors import InputError


class _Entry(NamedTuple):
    """One tensor of both records, its `Difference` and the `max_rel` that it is allowed."""

    stage: str
    name: str
    left: np.ndarray
    difference: Difference
    allowed: float

    @property
    def beyond(self) -> bool:
        return not self.difference.identical and self.difference.max_rel > self.allowed

    @property
    def may_be_rounding(self) -> bool:
        """Whether rounding can make such a difference: floats, finite on both sides, with a tolerance."""
        return self.beyond and self.allowed > 0 and not self.difference.nonfinite_mismatch


@dataclasses.dataclass
class RecordComparison:
    """Compares records into a summary for each stage.

    Attributes:
      summaries: {stage: `StageSummary`}, filled by `compare`.
      allowed: function (stage, tensor name, dtype, steps since both sides had the same state) to the `max_rel` that a
        tensor is allowed; 0 asks for identical bits.
      magnitudes: reference magnitudes of the left side's tensors.
      precision: of the programs where it is not the run's own, for the failures.
      rounded: "tensor at step" of each difference that rounding of the weights explains.
      half_rounded: the same of each that rounding of the weights to half precision explains.
      races: "tensor at step" of each that another order of reads and updates explains.
      history: keeps every tensor's difference; or None.
    """

    summaries: dict[str, StageSummary]
    allowed: Callable[[str, str, np.dtype, int], float]
    magnitudes: ReferenceMagnitudes
    precision: str = ""
    rounded: list[str] = dataclasses.field(default_factory=list)
    half_rounded: list[str] = dataclasses.field(default_factory=list)
    races: list[str] = dataclasses.field(default_factory=list)
    history: History | None = None

    def compare(
        self,
        step: int,
        age: int,
        left: Iterable[StageTensor],
        right: Iterable[StageTensor],
        response: Callable[[], Response] | None = None,
        others: Iterable[StepRecord] = (),
        half_response: Callable[[], Response] | None = None,
    ) -> list[Failure]:
        """Adds one record's tensors to the summaries.

        Args:
          step: number of the step.
          age: steps since both sides had the same state.
          left: the left side's tensors.
          right: the right side's, in the same order.
          response: measures how far rounding of the weights moves each tensor in this step; called only if a tensor
            is beyond its tolerance; None where that cannot be measured.
          others: records of the alternative orders of reads and updates; taken from one by one, while needed.
          half_response: as `response`, of rounding to half precision; None where the job does not compute in it.

        Returns:
          the tensors beyond their tolerance, in causal order.

        Raises:
          InputError: the records hold different tensors.
        """
        entries = self._in_other_orders(step, list(self._entries(age, left, right)), others)
        for measure, rounded in ((response, self.rounded), (half_response, self.half_rounded)):
            if measure is not None and any(entry.may_be_rounding for entry in entries):
                responses = measure()
                entries = [self._widened(step, entry, responses, rounded) for entry in entries]
        failures = []
        for entry in entries:
            summary = self.summaries.setdefault(entry.stage, StageSummary())
            if self.history is not None:
                self.history.add(step, entry.stage, entry.difference, entry.allowed)
            if not summary.add(step, entry.difference, entry.allowed):
                failures.append(Failure(step, entry.stage, entry.difference, entry.allowed, self.precision))
        return failures

    def _entries(self, age: int, left: Iterable[StageTensor], right: Iterable[StageTensor]) -> Iterator[_Entry]:
        for (stage, name, a), (other_stage, other_name, b) in zip(left, right):
            if (stage, name) != (other_stage, other_name):
                raise InputError(f"records do not line up: {stage} {name!r} against {other_stage} {other_name!r}")
            difference = compare(name, a, b, self.magnitudes.magnitude(stage, name))
            yield _Entry(stage, name, a, difference, self.allowed(stage, name, a.dtype, age))

    def _in_other_orders(self, step: int, entries: list[_Entry], others: Iterable[StepRecord]) -> list[_Entry]:
        """Returns the entries, those beyond their tolerance with the difference from an order that is within it.

        Each further order is a step of the whole program, which is taken only while a tensor of the state needs it.
        """
        open_entries = {
            (entry.stage, entry.name): number
            for number, entry in enumerate(entries)
            if entry.beyond and entry.stage in stages.OF_STATE
        }
        found = list(entries)
        for record in others if open_entries else ():
            for key, array in stages.state_tensors(record.state).items():
                if key not in open_entries:
                    continue
                entry = entries[open_entries[key]]
                difference = compare(entry.name, entry.left, array, self.magnitudes.magnitude(*key))
                if difference.max_rel <= entry.allowed:
                    found[open_entries.pop(key)] = entry._replace(difference=difference)
                    self.races.append(f"{entry.name} at step {step}")
            if not open_entries:
                break
        return found

    def _widened(self, step: int, entry: _Entry, responses: Response, rounded: list[str]) -> _Entry:
        """Widens a tensor's tolerance to the change that rounding of the weights causes in this step.

        Args:
          step: number of the step.
          entry: the tensor.
          responses: to the rounding.
          rounded: gets "tensor at step" if the wider tolerance explains the difference.

        Returns:
          the entry with the wider tolerance.
        """
        scale = self.magnitudes.magnitude(entry.stage, entry.name)
        if not entry.may_be_rounding or scale <= 0:
            return entry
        response = responses.get((entry.stage, entry.name), 0.0) / scale
        widened = entry._replace(allowed=max(entry.allowed, tolerance.RESPONSE_FACTOR * response))
        if not widened.beyond:
            rounded.append(f"{entry.name} at step {step}")
        return widened
