import numpy as np
import pytest

from tests.cases import Dyadic
from workloads import optimizers, program
from workloads.job import Job
from workloads.program import Program, RecordRewriter, State, StepRecord, initial_state
from workloads.variable_spec import VariableSpec
from workloads.workload import MovingAverage

SPECS = (
    VariableSpec("w", (2,), "float32", True, None),
    VariableSpec("seen", (), "float32", False, None),
)
VALUES = {"w": np.array([1.0, 2.0], np.float32), "seen": np.array(3.0, np.float32)}


class Counting(Program):
    """A program whose records hold nothing but their number."""

    side = "counting"

    def __init__(self):
        self.number, self.closed = 0, False

    def variables(self):
        return SPECS

    def describe(self):
        return {"program": "counting"}

    def state(self):
        return State(self.number, {}, {}, {}, {})

    def load(self, state):
        self.number = state.step

    def step(self):
        record = StepRecord(self.number, [], [], [], {}, np.float32(0.5), self.state())
        self.number += 1
        return record

    def close(self):
        self.closed = True


class WithLoss(RecordRewriter):
    """Puts the step's number in the place of the losses."""

    def rewrite(self, record):
        record.losses = [np.float32(record.step)]
        return record


def test_a_program_must_say_what_it_runs():
    with pytest.raises(TypeError, match="describe, state, variables"):
        program.Program()


def test_a_program_may_leave_out_what_it_cannot_do():
    with pytest.raises(NotImplementedError, match="Counting.run"):
        Counting().run(1)


def test_leaving_the_context_closes_the_program():
    with Counting() as made:
        assert not made.closed
    assert made.closed


def test_a_rewriter_changes_records_and_nothing_else():
    inner = Counting()
    wrapped = WithLoss(inner)
    wrapped.load(State(7, {}, {}, {}, {}))
    record = wrapped.step()
    assert (record.step, record.losses, wrapped.state().step) == (7, [7.0], 8)
    assert (wrapped.side, wrapped.describe(), wrapped.variables()) == ("counting", {"program": "counting"}, SPECS)
    wrapped.close()
    assert inner.closed


def test_a_rewriter_without_rewrite_cannot_be_made():
    with pytest.raises(TypeError, match="rewrite"):
        RecordRewriter(Counting())


def test_the_first_state_has_the_optimizers_slots_and_accumulators():
    job = Job(Dyadic(optimizer=optimizers.Adam(0.5, 0.75)))
    state = initial_state(job, SPECS, VALUES)
    assert set(state.slots) == {"w/m", "w/v", "beta1_power", "beta2_power"}
    assert state.slots["w/m"].tolist() == [0.0, 0.0]
    assert (float(state.slots["beta1_power"]), float(state.slots["beta2_power"])) == (0.5, 0.75)
    assert (list(state.weights), list(state.statistics), state.averages, state.step) == (["w"], ["seen"], {}, 0)


def test_slots_start_at_the_optimizers_value_and_averages_at_the_weights():
    job = Job(Dyadic(optimizer=optimizers.Adagrad(0.25), moving_average=MovingAverage()), staleness=3)
    state = initial_state(job, SPECS, VALUES)
    assert state.slots["w/accumulator"].tolist() == [0.25, 0.25]
    assert state.averages["w"].tolist() == [1.0, 2.0]
    assert state.averages["w"] is not state.weights["w"]
    assert state.slots["w/pending"].shape == (3, 2)


def test_casting_leaves_accumulators_as_they_are():
    state = State(1, {"w": np.zeros(2, np.float32)}, {"w/m": np.float32(1), "power": np.float32(0.5)}, {}, {})
    wide = state.cast("float64")
    assert (wide.weights["w"].dtype, wide.slots["w/m"].dtype) == (np.float64, np.float64)
    assert wide.slots["power"].dtype == np.float32
