"""The built-in models: what each computes, on sizes small enough to work out by hand."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from workloads import tracing
from workloads.frame import Frame
from workloads.models import cifar_cnn, images, regression, resnet18, sigmoid_stack, stacked_lstm
from workloads.numerics import random_keys
from workloads.selection import registry
from workloads.tower_loss import tower_loss


class ConstantFrame(Frame):
    """Answers every request with one constant."""

    def __init__(self, value):
        super().__init__("float32", 0, tf.constant(0, tf.int64), 0)
        self._value = value

    def variable(self, name, shape, initializer, trainable):
        return tf.fill(shape, np.float32(self._value))


def loss(workload, value, count=2):
    """The loss with all variables equal to `value`, on synthetic examples."""
    examples = workload.examples(random_keys.generator("test"), count)
    batch = {
        name: tf.constant(np.asarray(examples[name], spec.dtype("float32"))) for name, spec in workload.inputs().items()
    }
    return float(tower_loss(workload, ConstantFrame(value), batch))


def test_sigmoids_of_zero_are_one_half():
    assert loss(dataclasses.replace(sigmoid_stack.SMALL, dim=4), 0.0) == 0.5


def test_a_regression_of_zero_misses_the_target_by_its_mean_square():
    workload = dataclasses.replace(regression.SMALL, features=3, hidden=(2,))
    x = workload.examples(random_keys.generator("test"), 2)["x"]
    np.testing.assert_allclose(loss(workload, 0.0), np.mean((2 * x + 1) ** 2), rtol=1e-6)


@pytest.mark.parametrize("model", [cifar_cnn, resnet18, stacked_lstm])
def test_equal_logits_cost_the_logarithm_of_the_number_of_classes(model):
    workload = dataclasses.replace(model.SMALL, weight_decay=0.0)
    np.testing.assert_allclose(loss(workload, 0.0), np.log(10), rtol=1e-6)


def test_weight_decay_adds_to_the_loss_of_system_3():
    with_decay, without = cifar_cnn.SMALL, dataclasses.replace(cifar_cnn.SMALL, weight_decay=0.0)
    assert loss(with_decay, 0.25) > loss(without, 0.25)


def test_image_workloads_take_images_and_class_numbers():
    specs = cifar_cnn.SMALL.inputs()
    assert isinstance(cifar_cnn.SMALL, images.ImageWorkload)
    assert specs["images"].shape == (24, 24, 3) and specs["labels"].classes == 10


@pytest.mark.parametrize("name", registry.NAMES)
def test_only_system_4_has_statistics(name):
    assert tracing.has_statistics(registry.get(name)) is (name == "resnet18")
