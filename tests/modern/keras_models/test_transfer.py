"""Slots in Keras's terms, and optimizers that do not agree with 1.x's."""

from __future__ import annotations

import keras
import numpy as np
import pytest

from modern.keras_models.optimizer_state import OptimizerState
from modern.keras_models.transfer import Transfer, check_optimizer, in_keras_terms
from workloads import optimizers
from workloads.support.errors import InputError


def test_a_slot_with_the_rate_inside_is_negative():
    described = optimizers.Momentum().keras_class()
    assert in_keras_terms(described, "momentum", np.float32([2.0]), 0.25).tolist() == [-0.5]
    described = optimizers.Adam().keras_class()
    assert in_keras_terms(described, "m", np.float32([2.0]), 0.25).tolist() == [2.0]


def test_a_model_that_is_not_compiled_is_refused():
    with pytest.raises(InputError, match="the model is not compiled with keras.optimizers.Adam"):
        check_optimizer(None, optimizers.Adam().keras_class())
    check_optimizer(keras.optimizers.Adam(epsilon=1e-8), optimizers.Adam().keras_class())


class Unknown(optimizers.GradientDescent):
    """An optimizer that Keras does not have."""

    def keras_class(self):
        return None


class OwnSlot(optimizers.Momentum):
    """An optimizer with a slot that Keras does not have."""

    def slots(self):
        return {"momentum": 0.0, "second": 0.0}


@pytest.mark.parametrize(
    "optimizer, says",
    [(Unknown(), "Unknown has no Keras class"), (OwnSlot(), "the slot 'second' of OwnSlot has no counterpart")],
)
def test_an_optimizer_or_slot_without_a_counterpart_is_refused(optimizer, says):
    with pytest.raises(InputError, match=f"--export_keras: {says}"):
        Transfer({}, OptimizerState(optimizer, {}, 0), 0.5, {}).keras_class()
