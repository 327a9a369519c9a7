"""Ports in float64 that were rewritten from float32, beside the ones that a float64 job makes."""

import dataclasses

import numpy as np
import pytest

from modern.double.programs import DoubleLiftedProgram, DoubleProgram
from modern.factory import program_in_double
from tests import old_programs
from tests.cases import Dyadic, Everything, setup
from workloads import optimizers
from workloads.lifted.double.errors import NotInDouble


def rewritten(made):
    return program_in_double(made.job, made.make_source(made.job), made.modern, made.devices())


def test_dyadic_numbers_are_those_of_a_float64_job():
    made = setup(Dyadic(), 2)
    with rewritten(made) as program, made.modern_program("float64") as native:
        assert isinstance(program, DoubleProgram)
        for _ in range(2):
            found, expected = program.step(), native.step()
            assert [float(loss) for loss in found.losses] == [float(loss) for loss in expected.losses]
            assert found.state.weights["a"].dtype == found.combined["a"].dtype == np.float64
            assert found.learning_rate.dtype == np.float32 and found.digests == expected.digests
            assert {n: float(v) for n, v in found.state.weights.items()} == {
                n: float(v) for n, v in expected.state.weights.items()
            }


@pytest.mark.parametrize("optimizer", [optimizers.Adam(), optimizers.Momentum(0.9, True)])
def test_slots_statistics_averages_and_masks_agree_to_the_rounding_of_constants(optimizer):
    made = setup(dataclasses.replace(Everything(), optimizer=optimizer), 2)
    with rewritten(made) as program, made.modern_program("float64") as native:
        program.load(native.state())
        found, expected = program.step(), native.step()
    for kind in ("weights", "slots", "statistics", "averages"):
        ours, theirs = getattr(found.state, kind), getattr(expected.state, kind)
        assert list(ours) == list(theirs)
        for name, value in ours.items():
            assert value.dtype == theirs[name].dtype
            np.testing.assert_allclose(value, theirs[name], rtol=1e-6, atol=1e-9)
    for ours, theirs in zip(found.masks, expected.masks):
        assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)


def test_a_port_that_is_not_mirrored_or_has_keras_rules_has_no_form():
    made = setup(Dyadic(), 2, modern={"update_rules": "keras"})
    with pytest.raises(NotInDouble), rewritten(made) as program:
        program.step()
    stale = setup(Dyadic(), 2)
    with pytest.raises(NotInDouble):
        rewritten(dataclasses.replace(stale, job=dataclasses.replace(stale.job, staleness=0)))


def test_a_lifted_port_in_float64_is_its_graph_that_was_rewritten_before():
    made = old_programs.setup("a_split_sgd")
    with rewritten(made) as program, made.modern_program("float64") as other:
        assert isinstance(program, DoubleLiftedProgram)
        found, expected = program.step(), other.step()
    for name, value in expected.state.weights.items():
        assert found.state.weights[name].dtype == np.float64
        np.testing.assert_allclose(found.state.weights[name], value, rtol=1e-14, atol=1e-15)
