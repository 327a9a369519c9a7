"""Every optimizer goes everywhere that one description takes it, and so does one that only this file knows."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import keras
import numpy as np
import pytest

from parity.causes import catalogue
from parity.diagnosis.collect import collect_evidence
from parity.diagnosis.context.job_context import context_of_job, context_of_recording
from parity.diagnosis.evidence import Evidence
from tests.cases import Everything, assert_same, records, setup
from workloads import optimizers, schedules
from workloads.job import Job
from workloads.program import StepRecord
from workloads.records.reader import Recording
from workloads.records.record_program import record_program
from workloads.support.errors import InputError

STEPS = 4


@dataclasses.dataclass(frozen=True)
class Adadelta(optimizers.Optimizer):
    """Zeiler, arXiv:1212.5701: the made-up sixth optimizer. No other file names it."""

    rho: float = 0.875
    epsilon: float = 1e-4

    def slots(self) -> dict[str, float]:
        return {"accum": 0.0, "accum_update": 0.0}

    def tf1_class(self) -> optimizers.Tf1Class:
        return optimizers.Tf1Class("AdadeltaOptimizer", {"rho": self.rho, "epsilon": self.epsilon})

    def kernel(self) -> optimizers.Kernel:
        return optimizers.Kernel(
            "ResourceApplyAdadelta",
            slots={"accum": "accum", "accum_update": "accum_update"},
            constants={"rho": self.rho, "epsilon": self.epsilon},
        )

    def keras_class(self) -> optimizers.KerasClass:
        return optimizers.KerasClass(
            "Adadelta",
            {"rho": self.rho, "epsilon": self.epsilon},
            slots={"accum": "_accumulated_grads", "accum_update": "_accumulated_delta_vars"},
        )

    def update_forms(self) -> dict[optimizers.UpdateForm, optimizers.UpdateFormula]:
        return {optimizers.OWN: self._form(self.epsilon), optimizers.epsilon_form("1e-7"): self._form(1e-7)}

    def slot_rules(self) -> dict[str, optimizers.SlotRule]:
        square = optimizers.base.squared_gradient
        return {"accum": optimizers.SlotRule(self.rho, 1 - self.rho, square, "rho")}

    def _form(self, epsilon: float) -> optimizers.UpdateFormula:
        def form(update: optimizers.ObservedUpdate) -> np.ndarray:
            ratio = np.sqrt(update.old["accum_update"] + epsilon) / np.sqrt(update.new["accum"] + epsilon)
            return -update.learning_rate * ratio * update.gradient

        return form


@dataclasses.dataclass(frozen=True)
class WithoutKeras(Adadelta):
    """An optimizer that Keras does not have."""

    def keras_class(self) -> None:
        return None


ALL = (
    optimizers.GradientDescent(),
    optimizers.Momentum(0.875),
    optimizers.Adam(0.5, 0.875),
    optimizers.RMSProp(0.875, 0.5),
    optimizers.Adagrad(),
    Adadelta(),
)


class Runs(NamedTuple):
    """The same few steps of one workload on towers, on replicas, and by Keras."""

    job: Job
    evidence: Evidence
    keras: list[StepRecord]


@pytest.fixture(scope="module", params=ALL, ids=lambda optimizer: type(optimizer).__name__)
def runs(request: pytest.FixtureRequest) -> Runs:
    workload = Everything(optimizer=request.param, learning_rate=schedules.Fixed(2.0**-6), dropout_rate=0.0)
    made = setup(workload, 2)
    with made.legacy_program() as left, made.modern_program() as right:
        evidence = collect_evidence(left, right, context_of_job(made.job), STEPS, 0)
    by_keras = setup(workload, 2, modern={"update_rules": "keras"})
    return Runs(made.job, evidence, records(by_keras.modern_program(), STEPS))


def test_towers_and_replicas_have_identical_bits(runs):
    steps = runs.evidence.steps
    assert_same([step.left for step in steps], [step.right for step in steps])
    slots = {name.rpartition("/")[2] for name in steps[0].left.state.slots}
    assert slots == {*runs.job.workload.optimizer.slots(), *runs.job.workload.optimizer.accumulators()}


def test_keras_agrees_to_rounding_in_weights_and_slots(runs):
    left, right = runs.evidence.steps[-1].left.state, runs.keras[-1].state
    assert set(left.slots) == set(right.slots)
    for name, value in [*left.weights.items(), *left.slots.items()]:
        other = right.weights[name] if name in right.weights else right.slots[name]
        np.testing.assert_allclose(other, value, rtol=0, atol=1e-4 * np.abs(value).max(), err_msg=name)


def test_the_keras_slots_that_a_recorder_looks_for_are_there(runs):
    described = runs.job.workload.optimizer.keras_class()
    known = optimizers.known_keras_classes()[described.name]
    optimizer = getattr(keras.optimizers, described.name)(**described.arguments)
    optimizer.build([keras.Variable(np.zeros(3, "float32"))])
    for slot in described.slots:
        assert len(getattr(optimizer, known.slots[slot])) == 1
    for power, base in runs.job.workload.optimizer.accumulators().items():
        assert getattr(optimizer, known.powers[power]) == base


def test_diagnosis_recognises_the_update_and_names_no_cause(runs):
    for side in runs.evidence.updates:
        assert side.explained_by(optimizers.OWN)
        assert len(side.steps) == STEPS
    assert [finding.id for finding in catalogue.recognize_causes(runs.evidence)] == []


def test_diagnosis_does_not_take_another_optimizers_update_for_its_own(runs):
    other = optimizers.GradientDescent()
    if runs.job.workload.optimizer == other:
        pytest.skip("this is the other one")
    context = dataclasses.replace(runs.evidence.context, optimizer=other)
    mistaken = Evidence(context, runs.evidence.left, runs.evidence.right, runs.evidence.steps)
    assert not any(side.explained_by(optimizers.OWN) for side in mistaken.updates)


def test_recordings_hold_its_slots_and_its_text_is_read_back(runs, tmp_path):
    path = str(tmp_path / "run.npz")
    with setup(runs.job.workload, 2).legacy_program() as program:
        record_program(program, runs.job, 1, path)
    recording = Recording(path)
    assert context_of_recording(recording.manifest["job"]).optimizer == runs.job.workload.optimizer
    first = recording.step().state.slots
    for name, value in runs.evidence.steps[0].left.state.slots.items():
        np.testing.assert_array_equal(first[name], value)


def test_a_wrong_constant_of_the_sixth_is_named():
    workload = Everything(optimizer=Adadelta(), learning_rate=schedules.Fixed(2.0**-6))
    made, other = setup(workload, 2), setup(dataclasses.replace(workload, optimizer=Adadelta(rho=0.5)), 2)
    with made.legacy_program() as left, other.modern_program() as right:
        evidence = collect_evidence(left, right, context_of_job(made.job), STEPS, 0)
        (finding,) = [finding for finding in catalogue.recognize_causes(evidence) if finding.id == "OPTIMIZER_CONSTANT"]
    assert "another rho" in str(finding)


def test_an_optimizer_without_a_keras_class_is_refused_and_not_replaced():
    made = setup(Everything(optimizer=WithoutKeras()), 2, modern={"update_rules": "keras"})
    with pytest.raises(InputError, match="--update_rules: got 'keras', WithoutKeras describes no Keras class"):
        made.modern_program()
