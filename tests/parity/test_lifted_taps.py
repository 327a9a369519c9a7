"""Taps of lifted graphs from end to end: a fault in one op is named, and bits do not depend on whether taps are on."""

from __future__ import annotations

import numpy as np
import pytest

from legacy.factory import legacy_program
from modern.factory import modern_program
from parity.comparison import stages
from parity.diagnosis.localization.layers import first_layer_of_steps
from parity.diagnosis.steps.compared_step import ComparedStep
from parity.layers.first_layer import BACKWARD, FORWARD
from tests.parity.layer_faults import compared
from tests.parity.lift_faults import tapped_lift
from workloads.records.reader import Recording
from workloads.records.record_program import record_program
from workloads.support.errors import InputError

#: (nodes with the fault, way, layer, tensor, replicas) in a net with batch normalization of two towers.
FAULTS = [
    (["tower0/conv1/Conv2D", "tower1/conv1/Conv2D"], FORWARD, "conv1", "conv1/Conv2D", (0, 1)),
    (["tower1/bn1/batchnorm/Rsqrt"], FORWARD, "bn1/batchnorm", "bn1/batchnorm/Rsqrt", (1,)),
    (["tower1/gradients/tower1/Relu_1_grad/ReluGrad"], BACKWARD, "add", "add", (1,)),
    (["tower0/gradients/tower0/conv1/Conv2D_grad/Conv2DBackpropFilter"], BACKWARD, "conv1", "conv1/kernel", (0,)),
]


@pytest.mark.parametrize("nodes, way, layer, tensor, replicas", FAULTS)
def test_a_fault_in_one_op_is_localised_to_it(nodes, way, layer, tensor, replicas):
    result = compared(tapped_lift("d_batch_norm", nodes))
    found = result.first_layer
    assert not result.passed and found is not None
    assert (found.way, found.layer, found.tensor, found.replicas) == (way, layer, tensor, replicas)


def test_a_fault_on_the_way_back_lies_between_an_op_and_its_readers():
    result = compared(tapped_lift("d_batch_norm", ["tower0/gradients/tower0/conv1/Conv2D_grad/Conv2DBackpropInput"]))
    assert result.first_layer is not None
    assert (result.first_layer.layer, result.first_layer.readers) == ("Relu", ("conv1", "add"))


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_equal_programs_have_equal_taps_at_any_number_of_replicas(replicas):
    result = compared(tapped_lift("d_batch_norm", replicas=replicas), steps=2)
    assert result.passed and result.first_layer is None
    assert result.stages[stages.ACTIVATIONS].elements > 0 and result.stages[stages.ACTIVATION_GRADIENTS].elements > 0


def test_gradients_made_anew_are_compared_with_the_graphs_own():
    result = compared(tapped_lift("a_split_sgd", autodiff="new"))
    assert result.stages[stages.ACTIVATION_GRADIENTS].elements > 0 and result.first_layer is None and result.passed


def test_bits_are_the_same_with_taps_and_without():
    for side in ("legacy_program", "modern_program"):
        records = []
        for taps in ((), ("*",)):
            with getattr(tapped_lift("d_batch_norm", taps=taps), side)() as program:
                records.append([program.step() for _ in range(2)])
        for plain, tapped in zip(*records):
            assert not plain.taps and not plain.tap_readers and len(tapped.taps) == 2
            pairs = list(zip(stages.tensors(plain), stages.tensors(tapped)))
            assert pairs and all(np.array_equal(a, b) for (_, _, a), (_, _, b) in pairs)


def test_recordings_of_two_lifts_show_the_op_too(tmp_path):
    setups = [tapped_lift("d_batch_norm"), tapped_lift("d_batch_norm", ["tower1/bn1/batchnorm/Rsqrt"])]
    steps = []
    for name, setup in zip(("left", "right"), setups):
        path = str(tmp_path / f"{name}.npz")
        with setup.modern_program() as program:
            record_program(program, setup.job, 1, path)
        with Recording(path) as recording:
            assert recording.holds_taps
            steps.append((recording.state(), recording.step()))
    (before, left), (other, right) = steps
    assert left.tap_readers["Relu"] == ["conv1/Conv2D", "add"]
    found = first_layer_of_steps([ComparedStep(left, right, before, other)])
    assert found is not None and found.tensor == "bn1/batchnorm/Rsqrt"


def test_train_ops_that_run_in_turn_have_taps_of_their_own(tmp_path):
    setup = tapped_lift("l_gan")
    assert compared(setup, steps=2).passed
    with setup.modern_program() as program:
        record_program(program, setup.job, 2, str(tmp_path / "gan.npz"))
    with Recording(str(tmp_path / "gan.npz")) as recording:
        first, second = (recording.step() for _ in range(2))
    assert first.taps and second.taps and list(first.taps[0]) != list(second.taps[0])


def test_a_name_that_is_no_op_is_refused_on_both_sides():
    setup = tapped_lift("d_batch_norm", taps=("conv7",))
    for make, options in ((legacy_program, setup.legacy), (modern_program, setup.modern)):
        with pytest.raises(InputError, match="--taps: got 'conv7'"):
            make(setup.job, setup.make_source(setup.job), options, setup.devices())
