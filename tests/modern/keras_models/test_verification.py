"""Verification of a model: a step or a prediction that differs is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from modern.keras_models.export import match_variables
from modern.keras_models.optimizer_state import optimizer_state
from modern.keras_models.transfer import Transfer
from modern.keras_models.verification import Verified, verify_predictions, verify_step
from tests.modern.keras_models import models
from workloads import optimizers
from workloads.support.errors import InputError


@pytest.fixture(scope="module")
def trained():
    """A model's transfer, and the record of the program's next step."""
    made, program, state = models.trained(optimizers.Adam())
    with program:
        record = program.step()
    names = match_variables(made.job, models.adam()).names
    ordered = list(names.values())
    values = {**state.weights, **state.statistics}
    return ordered, Transfer(values, optimizer_state(made.job, state), float(record.learning_rate), names), record


def model_of(transfer, ordered):
    model = models.adam()
    transfer = dataclasses.replace(transfer, names=dict(zip([v.path for v in model.weights], ordered)))
    transfer.apply(model)
    return model, transfer


def test_one_further_step_is_the_programs(trained):
    ordered, transfer, record = trained
    model, own = model_of(transfer, ordered)
    assert verify_step(model, own, record, own.weights(model)) < 1e-3


def test_a_wrong_number_of_steps_shows(trained):
    ordered, transfer, record = trained
    wrong = dataclasses.replace(transfer, optimizer=dataclasses.replace(transfer.optimizer, iterations=0))
    model, own = model_of(wrong, ordered)
    with pytest.raises(InputError, match="--export_keras: one further step of the model differs in "):
        verify_step(model, own, record, own.weights(model))


def test_an_output_must_be_a_prediction(trained):
    ordered, transfer, _ = trained
    model, _ = model_of(transfer, ordered)
    x = np.random.RandomState(0).rand(4, 6).astype(np.float32)
    expected = np.asarray(model(x, training=False))
    assert verify_predictions(model, {"x": x}, {"logits": expected}) == Verified(0.0, 0.0, "logits")
    with pytest.raises(InputError, match="must predict logits"):
        verify_predictions(model, {"x": x}, {"logits": expected + 1.0})
    with pytest.raises(InputError, match=r"one of the workload's predictions: classes \[4\]"):
        verify_predictions(model, {"x": x}, {"classes": expected[:, 0]})


def test_the_sentence_says_what_was_compared():
    assert Verified(1e-7, 2e-8, "logits").sentence() == (
        "one further step within 1.0e-07 of the program's; predictions within 2.0e-08 of logits"
    )
    assert Verified(0.0).sentence().endswith("predictions not compared, as the workload defines none")
