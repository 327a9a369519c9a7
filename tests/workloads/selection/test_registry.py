import dataclasses

import pytest

import workloads
from workloads import models
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


def test_a_model_file_is_found_by_what_it_defines(tmp_path):
    (tmp_path / "later.py").write_text("SEED = 1\nSMALL = 2\n")
    (tmp_path / "second.py").write_text("SYSTEM = 2\nSEED = f()\nSMALL = f()\n")
    (tmp_path / "first.py").write_text("SYSTEM = 1\nSEED = f()\nSMALL = f()\n")
    (tmp_path / "shared_parts.py").write_text("SEED = 1\n")
    (tmp_path / "notes.txt").write_text("SEED = SMALL = 1\n")
    assert registry.built_in_names([str(tmp_path)]) == ("first", "second", "later")


def test_a_model_file_added_is_all_that_a_sixth_workload_needs(tmp_path, monkeypatch):
    (tmp_path / "sixth.py").write_text(
        "from tests.cases import Dyadic\nSEED = Dyadic(name='sixth')\nSMALL = Dyadic(name='sixth', global_batch=2)\n"
    )
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "NAMES", registry.built_in_names(models.__path__))
    assert registry.NAMES[-1] == "sixth" and len(registry.NAMES) == 6
    assert registry.get("sixth").global_batch == 2
    assert registry.get("sixth", "seed").global_batch == 8


def test_an_unknown_workload_is_refused_and_no_other_takes_its_place():
    assert "sixth" not in registry.NAMES
    with pytest.raises(InputError, match="--workload: got 'sixth', allowed: sigmoid_stack"):
        registry.get("sixth")
