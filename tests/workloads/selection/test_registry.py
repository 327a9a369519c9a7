import dataclasses

import pytest

import workloads
from workloads.selection import registry
from workloads.support.errors import InputError


@pytest.mark.parametrize("name", registry.NAMES)
@pytest.mark.parametrize("size", registry.SIZES)
def test_the_five_systems_are_there_in_both_sizes(name, size):
    assert workloads.get(name, size).name == name


def test_the_write_ups_figures_are_the_seeds():
    from workloads.models import cifar_cnn, regression, resnet18, sigmoid_stack

    sigmoid = sigmoid_stack.SEED
    assert (sigmoid.dim, sigmoid.depth, sigmoid.global_batch, sigmoid.clip.limit) == (1000, 6, 64, 5.0)
    assert (sigmoid.optimizer.beta1, sigmoid.optimizer.beta2, sigmoid.learning_rate.rate) == (0.5, 0.9, 1e-4)
    assert (regression.SEED.features, regression.SEED.hidden, regression.SEED.global_batch) == (
        600,
        (512, 128, 128),
        2000,
    )
    assert regression.SEED_SPLIT.learning_rate.rate == 1e-2
    assert regression.SEED_UNSCALED.weight_stddev == 1.0
    cifar = cifar_cnn.SEED
    assert (cifar.weight_decay, cifar.moving_average.decay, cifar.learning_rate.epochs) == (0.004, 0.9999, 350)
    assert (cifar.image_size, cifar.filters, cifar.units) == (24, 64, (384, 192))
    assert (resnet18.SEED.filters, resnet18.SEED.global_batch) == ((16, 32, 64, 128), 512)


def test_anybodys_own_by_module_and_attribute():
    assert registry.get("tests.cases:make_everything").name == "everything"
    assert dataclasses.is_dataclass(registry.get("tests.cases:Everything"))


@pytest.mark.parametrize(
    "name, message",
    [
        ("resnet19", "allowed: sigmoid_stack, regression"),
        ("no.such.module:thing", "importing 'no.such.module' failed"),
        ("tests.cases:nothing", "has no attribute 'nothing'"),
        ("tests.cases:np", "expected a workloads.workload.Workload"),
    ],
)
def test_unknown_workloads_are_named(name, message):
    with pytest.raises(InputError, match=message):
        registry.get(name)


def test_unknown_size():
    with pytest.raises(InputError, match="--size"):
        registry.get("regression", "huge")
