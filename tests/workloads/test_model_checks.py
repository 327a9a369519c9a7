import numpy as np
import pytest
import tensorflow as tf

from workloads import model_checks
from workloads.support.errors import InputError
from workloads.variable_spec import VariableSpec


def test_shapes_are_sequences_of_integers():
    assert model_checks.checked_shape("w", [np.int64(2), 3]) == (2, 3)
    assert model_checks.checked_shape("w", ()) == ()
    for shape in (3, (2.0,), (None,), "ab"):
        with pytest.raises(InputError, match="must be a sequence of integers"):
            model_checks.checked_shape("w", shape)
    with pytest.raises(InputError, match="every size must be at least 1"):
        model_checks.checked_shape("w", (2, 0))


def test_a_loss_is_a_scalar_of_the_runs_dtype():
    model_checks.check_loss("loss", tf.constant(1.0), "float32")
    for loss, says in (
        (1.0, "got float"),
        (tf.zeros([1]), "got shape"),
        (tf.constant(1), "got int32, must be float32"),
    ):
        with pytest.raises(InputError, match="^loss: " + says):
            model_checks.check_loss("loss", loss, "float32")


def test_a_statistic_gets_its_own_shape_and_dtype():
    spec = VariableSpec("s", (2,), "float32", False, None)
    model_checks.check_update("loss", spec, tf.zeros([2]))
    for value, got in ((tf.zeros([3]), r"float32 \(3,\)"), (tf.zeros([2], tf.float64), "float64"), (0.5, "float")):
        with pytest.raises(InputError, match=f"^loss: scope.update: 's' got {got}"):
            model_checks.check_update("loss", spec, value)
