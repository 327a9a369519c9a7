"""Taps of a recorded old program whose first tower alone has a regularizer, and of a graph of one op."""

from __future__ import annotations

import pytest

from tests import old_programs
from tests.small_lift import small_lift
from workloads.lifted.tensors.lift_taps import NO_TAPS, find_taps
from workloads.lifted.workload import load_lift
from workloads.support.errors import InputError


@pytest.fixture(scope="module")
def lift():
    return load_lift(old_programs.lifted("d_batch_norm"))


def test_without_patterns_there_are_no_taps(lift):
    assert find_taps(lift, ()) == [NO_TAPS]


def test_a_tap_has_the_ops_name_without_the_towers_scope(lift):
    (taps,) = find_taps(lift, ("*",))
    values = taps.values(1)
    assert values["conv0/Conv2D"] == "tower1/conv0/Conv2D:0" and values["Relu"] == "tower1/Relu:0"
    assert taps.gradients(0)["Mean"] == "tower0/gradients/tower0/fc/MatMul_grad/tuple/control_dependency:0"


def test_what_one_tower_has_alone_is_left_out(lift):
    (taps,) = find_taps(lift, ("*",))
    assert not any("Regularizer" in tap.name for tap in taps.taps)


def test_taps_know_what_is_made_from_them_and_from_the_weights(lift):
    (taps,) = find_taps(lift, ("*",))
    assert taps.readers["Relu"] == ["conv1/Conv2D", "add"] and taps.readers["fc/bias"] == ["fc/BiasAdd"]
    (taps,) = find_taps(lift, ("conv0", "add"))
    assert [tap.name for tap in taps.taps] == ["conv0/Conv2D", "add"] and taps.readers["conv0/Conv2D"] == ["add"]


def test_a_pattern_may_be_of_any_towers_op(lift):
    (taps,) = find_taps(lift, ("tower1/fc", "conv0/Conv2D"))
    assert [tap.name for tap in taps.taps] == ["conv0/Conv2D", "fc/MatMul", "fc/BiasAdd"]


def test_a_name_that_no_op_has_is_refused(lift):
    with pytest.raises(InputError, match="--taps: got 'conv7', is no op of the towers' forward passes, as "):
        find_taps(lift, ("conv7",))


def test_towers_without_a_scope_keep_their_names(tmp_path):
    (taps,) = find_taps(small_lift(str(tmp_path / "lift")), ("*",))
    assert [tap.name for tap in taps.taps] == ["mul", "loss0"]
    assert taps.taps[1].tensors == ["loss0:0", "loss1:0"] and taps.readers["w"] == ["mul"]
