"""Faults for negative controls: the catalogue's, by name, and one that no cause in the catalogue names."""

from __future__ import annotations

from parity.causes import catalogue
from parity.comparison.setup import Setup
from workloads.program import Program, RecordRewriter, State, StepRecord

#: {name: function from a `Setup` to the faulty `Program`}
INJECTED = {fault.name: fault.inject for cause in catalogue.CAUSES for fault in cause.faults}


class _SkipsAverages(RecordRewriter):
    """Does not move the averages in step 2."""

    def step(self) -> StepRecord:
        self._before = self._program.state().averages
        return super().step()

    def rewrite(self, record: StepRecord) -> StepRecord:
        if record.step == 2:
            s = record.state
            record.state = State(s.step, s.weights, s.slots, s.statistics, self._before)
            self._program.load(record.state)
        return record


def one_step_of_the_average_skipped(setup: Setup) -> Program:
    """Builds the port that does not move its averages in step 2."""
    return _SkipsAverages(setup.modern_program())


INJECTED["one_step_of_the_average_skipped"] = one_step_of_the_average_skipped
