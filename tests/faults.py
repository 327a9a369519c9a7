"""Faults for negative controls: the catalogue's, by name, and one that it has no use for."""

from parity.causes import catalogue
from workloads.program import RecordRewriter, State

#: {name: function from a `Setup` to the faulty `Program`}
INJECTED = {fault.name: fault.inject for cause in catalogue.CAUSES for fault in cause.faults}


class _SkipsAverages(RecordRewriter):
    """Forgets to move the averages in step 2."""

    def step(self):
        self._before = self._program.state().averages
        return super().step()

    def rewrite(self, record):
        if record.step == 2:
            s = record.state
            record.state = State(s.step, s.weights, s.slots, s.statistics, self._before)
            self._program.load(record.state)
        return record


def one_step_of_the_average_skipped(setup):
    return _SkipsAverages(setup.modern_program())


INJECTED["one_step_of_the_average_skipped"] = one_step_of_the_average_skipped
