"""Copies of values inside a Keras model's step, by hand; recordings of them are in test_keras_recorder.py."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from modern.keras_step_copies import KerasStepCopies
from modern.keras_taps import TapArrays


def model_and_optimizer(*layers, **arguments):
    """A model of some layers on two features, and gradient descent that is built for it."""
    model, optimizer = keras.Sequential([keras.Input((2,)), *layers]), keras.optimizers.SGD(0.25, **arguments)
    optimizer.build(model.trainable_variables)
    return model, optimizer


def ones(name):
    """A layer that adds up its inputs."""
    return keras.layers.Dense(1, use_bias=False, kernel_initializer="ones", name=name)


def take_step(model, optimizer, x):
    """One step of a loss that is the mean of the outputs."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x, training=True))
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)


@pytest.mark.parametrize("limit, combined", [(None, [1.0, 3.0]), (2.0, [1.0, 2.0])])
def test_gradients_are_copied_before_and_after_clipping(limit, combined):
    model, optimizer = model_and_optimizer(ones("sum"), clipvalue=limit)
    copies = KerasStepCopies(model, optimizer, tf.distribute.get_strategy(), 1, {})
    take_step(model, optimizer, np.float32([[1.0, 3.0]]))
    found = copies.read()
    assert found.gradients[0][0].ravel().tolist() == [1.0, 3.0]
    assert found.combined[0].ravel().tolist() == combined
    assert model.trainable_variables[0].numpy().ravel().tolist() == [1 - 0.25 * g for g in combined]
    assert found.masks == [] and found.taps == [] and found.losses == [0.0]  # no Dropout, no taps, no fit


def test_the_elements_that_dropout_keeps_are_copied_in_training_only():
    model, optimizer = model_and_optimizer(keras.layers.Dropout(0.5, name="drop", seed=1), ones("sum"))
    copies = KerasStepCopies(model, optimizer, tf.distribute.get_strategy(), 8, {})
    x = np.ones((8, 2), np.float32)
    take_step(model, optimizer, x)
    mask = copies.read().masks[0]["drop"]
    assert mask.shape == (8, 2) and mask.dtype == bool and 0 < mask.sum() < 16
    # The gradient of a weight is the mean of what its input was: 2 where kept, 0 where dropped.
    assert copies.read().gradients[0][0].ravel().tolist() == (2.0 * mask.mean(axis=0)).tolist()
    model(x, training=False)
    np.testing.assert_array_equal(copies.read().masks[0]["drop"], mask)


def test_the_loss_of_fit_and_taps_are_copied():
    model, optimizer = model_and_optimizer(ones("sum"))
    model.compile(optimizer, loss=lambda y_true, y_pred: keras.ops.mean(y_pred, axis=-1))
    copies = KerasStepCopies(model, optimizer, tf.distribute.get_strategy(), 2, {"sum": "sum/dense.output"})
    copies.copy_loss()
    model.fit(
        np.float32([[1.0, 3.0], [2.0, 6.0]]), np.zeros((2, 1), np.float32), batch_size=2, shuffle=False, verbose=0
    )
    found = copies.read()
    assert found.losses == [6.0]
    assert isinstance(found.taps[0], TapArrays)
    assert found.taps[0].values["sum/dense.output"].ravel().tolist() == [4.0, 8.0]
    assert found.taps[0].gradients["sum/dense.output"].ravel().tolist() == [0.5, 0.5]
