import dataclasses

import pytest

from workloads import optimizers
from workloads.optimizers import base

FIVE = (
    optimizers.Adagrad,
    optimizers.Adam,
    optimizers.GradientDescent,
    optimizers.Momentum,
    optimizers.RMSProp,
)


def test_an_optimizer_must_say_its_1x_class_and_its_kernel():
    class Half(base.Optimizer):
        def kernel(self) -> base.Kernel:
            return base.Kernel("ResourceApplyGradientDescent")

    with pytest.raises(TypeError, match="tf1_class"):
        Half()
    assert Half not in base.known_optimizers()


def test_every_optimizer_that_was_defined_is_known():
    assert set(base.known_optimizers()) >= set(FIVE)


def test_descriptions_of_one_keras_class_are_joined():
    assert base.known_keras_classes()["SGD"].slots == {"momentum": "momentums"}
    assert base.known_keras_classes()["Adam"].powers == {"beta1_power": "beta_1", "beta2_power": "beta_2"}


@pytest.mark.parametrize(
    "optimizer, text",
    [
        (optimizers.GradientDescent(), "GradientDescent()"),
        (optimizers.Momentum(), "Momentum(momentum=0.9, nesterov=False)"),
        (optimizers.Adam(), "Adam(beta1=0.9, beta2=0.999, epsilon=1e-08)"),
        (optimizers.RMSProp(), "RMSProp(decay=0.9, momentum=0.0, epsilon=1e-10)"),
        (optimizers.Adagrad(), "Adagrad(initial_accumulator=0.1)"),
    ],
)
def test_the_texts_in_recordings_never_change(optimizer, text):
    assert repr(optimizer) == text


@pytest.mark.parametrize("kind", FIVE)
def test_a_description_is_consistent(kind):
    made = kind()
    kernel, keras_class = made.kernel(), made.keras_class()
    assert set(kernel.slots) == set(keras_class.slots) == set(made.slots()) == set(made.slot_rules())
    assert set(kernel.powers) == set(keras_class.powers) == set(made.accumulators())
    assert bool(made.tf1_class().accumulators) == bool(made.accumulators())
    assert set(keras_class.rate_inside) <= set(made.slots())
    fields = {field.name for field in dataclasses.fields(made)}
    assert all(rule.constant in fields for rule in made.slot_rules().values()) or kind is optimizers.Adagrad
    assert next(iter(made.update_forms())) == optimizers.OWN
