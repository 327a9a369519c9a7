"""Exports: weights by name, and a SavedModel that predicts what the program does."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from workloads import schedules
from workloads.job import Job
from workloads.program import State
from workloads.support.errors import InputError, UserError
from workloads.training import export
from workloads.workload import InputSpec, Workload


@dataclasses.dataclass(frozen=True)
class Scaled(Workload):
    """Predictions are inputs times a weight; labels are not read."""

    learning_rate: schedules.Schedule = schedules.Fixed(0.5)

    def inputs(self):
        return {"x": InputSpec((2,)), "y": InputSpec((), "int", 3)}

    def loss(self, scope, batch):
        return tf.reduce_sum(batch["x"] * scope.get("scale/w", (2,)))


class Predicting(Scaled):
    def predictions(self, scope, batch):
        return {"scaled": batch["x"] * scope.get("scale/w", (2,))}


class Fixed(Scaled):
    def predictions(self, scope, batch):
        return {"flat": tf.reshape(batch["x"], [int(batch["x"].shape[0]) * 2])}


class Broken(Scaled):
    def predictions(self, scope, batch):
        return {"x": batch["z"]}


STATE = State(3, {"scale/w": np.float32([2.0, 4.0])}, {}, {}, {"scale/w": np.float32([1.0, 1.0])})
BATCH = {"x": np.float32([[1.0, 2.0], [3.0, 4.0]]), "y": np.int32([0, 1])}


def exported(workload, tmp_path):
    return export.export_state(Job(workload, global_batch=2), STATE, BATCH, str(tmp_path / "out"))


def test_weights_and_averages_have_their_names(tmp_path):
    made = exported(Scaled(), tmp_path)
    with np.load(tmp_path / "out" / "weights.npz") as arrays:
        assert {name: arrays[name].tolist() for name in arrays} == {
            "scale/w": [2.0, 4.0],
            "scale/w/ExponentialMovingAverage": [1.0, 1.0],
        }
    assert made.sentence() == "2 arrays in weights.npz; no SavedModel, as the workload defines no predictions"


def test_a_saved_model_takes_any_number_of_examples(tmp_path):
    made = exported(Predicting(), tmp_path)
    assert made.sentence().endswith("serving_default: x [None, 2] -> scaled [None, 2]; first batch: identical bits")
    loaded = tf.saved_model.load(str(tmp_path / "out" / "saved_model")).signatures["serving_default"]
    assert loaded(x=tf.constant([[1.0, 1.0]] * 3))["scaled"].numpy().tolist() == [[2.0, 4.0]] * 3


def test_a_model_that_asks_for_the_number_gets_that_of_a_step(tmp_path):
    assert exported(Fixed(), tmp_path).inputs == {"x": [2, 2]}


def test_another_prediction_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(export, "_predictions_of_saved_model", lambda folder, batch: {"scaled": np.ones((2, 2))})
    with pytest.raises(InputError, match="--export: .* its predictions differ from the program's by"):
        exported(Predicting(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_fault_of_the_users_code_is_theirs(tmp_path):
    with pytest.raises(UserError, match="predictions raised KeyError"):
        exported(Broken(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="--export: got .*, must be a folder that does not exist yet"):
        export.check_export(str(tmp_path))
    with pytest.raises(InputError, match="its parent cannot be written"):
        export.check_export(str(tmp_path / "no" / "such"))
    export.check_export(str(tmp_path / "new"))
