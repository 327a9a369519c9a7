"""Setups: devices, the noise floor in the other precision, and none for a lifted workload."""

import dataclasses

import pytest

from parity.comparison.setup import Setup, exact_setup
from tests import old_programs
from tests.cases import Dyadic, setup
from workloads.sources import Synthetic
from workloads.support.errors import InputError


def test_a_device_for_each_replica_or_for_each_part_of_the_layers():
    made = setup(Dyadic(), 2)
    assert isinstance(made, Setup)
    assert made.devices() == ["CPU:0", "CPU:1"]
    assert len(dataclasses.replace(made, layer_devices=3).devices()) == 3
    with pytest.raises(InputError, match="replicas"):
        setup(Dyadic(), 16, 16).devices()


def test_the_legacy_program_in_another_precision_takes_the_same_batches():
    made = setup(Dyadic(), 2)
    with made.legacy_program() as narrow, made.legacy_program("float64") as wide:
        first, second = narrow.step(), wide.step()
    assert [float(loss) for loss in first.losses] == [float(loss) for loss in second.losses] == [3.0, 11.0]
    assert second.combined["a"].dtype == "float64"


def test_a_noise_floor_is_closed_at_the_end():
    with setup(Dyadic(), 2).closing_noise_floor() as floor:
        floor.load(floor._again.state())  # an open one can be used
    for program in (floor._again, floor._truth):
        with pytest.raises(RuntimeError, match="closed Session"):
            program.state()


def test_a_lifted_workload_has_no_noise_floor():
    made = old_programs.setup("a_split_sgd")
    assert made.noise_floor() is None
    with made.closing_noise_floor() as floor:
        assert floor is None


def test_an_exact_setup_has_synthetic_batches_and_the_all_reduce_that_is_asked_for():
    job = setup(Dyadic()).job
    made = exact_setup(job, all_reduce="auto")
    assert made.legacy.exact and made.modern.exact and made.modern.all_reduce == "auto"
    assert made.make_source is Synthetic and made.device == "cpu"
    assert exact_setup(job, "auto").device == "auto" and exact_setup(job).modern.all_reduce == "tower_order"
