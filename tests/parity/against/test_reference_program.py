"""Records of an old graph in a workload's terms: dense gradients, factors, one learning rate."""

import numpy as np
import pytest

from legacy.options import LegacyOptions
from parity.against.reference_program import ObservedOldGraph, ReferenceProgram, only_rate, scaled
from parity.against.variable_names import VariableNames
from tests.small_lift import RATE, START, CountingSource, small_job
from workloads.program import Program, State, StepRecord
from workloads.support.errors import InputError
from workloads.variable_spec import VariableSpec


def test_a_factor_keeps_the_dtype():
    assert scaled(np.float32([1, 2]), 0.5).tolist() == [0.5, 1] and scaled(np.float32(1), 2.0).dtype == np.float32


def test_a_third_is_divided():
    numbers = np.arange(1, 100, dtype=np.float32)
    np.testing.assert_array_equal(scaled(numbers, 1 / 3), numbers / np.float32(3))
    assert (numbers * np.float32(1 / 3) != numbers / np.float32(3)).any()


def test_a_step_has_one_learning_rate():
    assert only_rate(np.float32([0.5, 0.5])) == np.float32(0.5)
    with pytest.raises(InputError, match=r"has the learning rates \[0.5, 1.0\], a workload has one"):
        only_rate(np.float32([1, 0.5]))


def test_the_old_graphs_step_in_the_ports_names(tmp_path):
    job = small_job(str(tmp_path / "lift"))
    source = CountingSource(job)
    program = ObservedOldGraph(job, source, LegacyOptions(exact=True), ["CPU:0", "CPU:1"])
    names, specs = VariableNames({"w": "w"}, {}, {}, {}), [VariableSpec("w", (), "float32", True, None)]
    with ReferenceProgram(program, job.workload, names, source, specs, 4.0, 0.5) as reference:
        reference.load(State(3, {"w": np.float32(1)}, {}, {}, {}))
        assert (reference.state().step, reference.state().weights["w"]) == (3, 1)
        reference.load(State(0, {"w": np.float32(START)}, {}, {}, {}))
        record = reference.step()
    # Towers get 1, 2 and 3, 4: losses 2 * 3 and 2 * 7, gradients 3 and 7.
    assert [float(loss) for loss in record.losses] == [3, 7]
    assert [tower["w"] for tower in record.gradients] == [12, 28]
    assert record.combined == {"w": 5} and record.learning_rate == np.float32(RATE)
    assert record.state.weights == {"w": START - RATE * 5}


class OneTowersGradient(Program):
    """A program whose second tower has no gradient, and which updates nothing."""

    def variables(self):
        return ()

    def describe(self):
        return {}

    def state(self):
        return State(1, {"w": np.float32([1, 2])}, {}, {}, {})

    def step(self):
        gradients = [{"w": np.float32([3, 4])}, {}]
        return StepRecord(0, [], [], gradients, {}, np.float32([0.5]), self.state())


def test_a_gradient_that_is_not_there_is_zero(tmp_path):
    names, specs = VariableNames({"w": "w"}, {}, {}, {}), [VariableSpec("w", (2,), "float32", True, None)]
    workload = small_job(str(tmp_path / "lift")).workload
    source = CountingSource(small_job(str(tmp_path / "lift")))
    record = ReferenceProgram(OneTowersGradient(), workload, names, source, specs).step()
    assert [tower["w"].tolist() for tower in record.gradients] == [[3, 4], [0, 0]]
    assert record.combined["w"].tolist() == [0, 0]
