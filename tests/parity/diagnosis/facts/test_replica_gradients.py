import numpy as np
import pytest

from parity.diagnosis.facts.replica_gradients import fit_factor_and_decay, fit_replica_gradients
from tests.parity.step_records import arrays, compared_step, made_up_state, step_record

CLEAN = 2.0**-10


def fits_of(left, right, losses=((1.0,), (1.0,)), weights=None):
    """Fits of one step in which the replicas have these gradients."""
    records = [step_record(3, side_losses, side) for side, side_losses in zip((left, right), losses)]
    return fit_replica_gradients([compared_step(*records, made_up_state(weights))], CLEAN)


def test_one_factor_of_all_gradients_needs_no_decay():
    (found,) = fits_of([{"w": [1.0, 0.0]}], [{"w": [4.0, 0.0]}], losses=((0.5,), (2.0,)))
    assert (found.step, found.replica) == (3, 0)
    assert found.fit == (4.0, 0.0)
    assert (found.data, found.decay, found.residual) == (4.0, {}, 0.0)
    assert found.tensors == {"w": (4.0, 0.0)}
    assert (found.loss, found.loss_finite) == (4.0, (True, True))


def test_a_multiple_of_the_weight_is_distinguished_from_the_datas_factor():
    weights = {"w": [0.0, 2.0]}
    (found,) = fits_of([{"w": [1.0, 0.0]}], [{"w": [2.0, 1.0]}], weights=weights)
    assert found.data == 2.0
    assert found.decay == {"w": 0.5}
    assert found.residual == 0.0


@pytest.mark.parametrize("extra, decays", [(0.5 * CLEAN, False), (2 * CLEAN, True)])
def test_the_second_term_is_fitted_only_beyond_the_clean_residual(extra, decays):
    (found,) = fits_of([{"w": [1.0, 0.0]}], [{"w": [1.0, extra]}], weights={"w": [0.0, 1.0]})
    assert bool(found.decay) is decays


def test_each_replica_and_each_weight_has_its_own_fit():
    left = [{"w": [1.0, 0.0], "b": [1.0]}] * 2
    found = fits_of(left, [left[0], {"w": [2.0, 0.0], "b": [1.0]}], weights={"w": [1.0, 1.0], "b": [1.0]})
    assert [entry.replica for entry in found] == [0, 1]
    assert found[0].tensors == {"b": (1.0, 0.0), "w": (1.0, 0.0)}
    assert found[1].tensors == {"b": (1.0, 0.0), "w": (2.0, 0.0)}


def test_gradients_that_are_accumulated_have_no_weight_and_no_decay():
    (found,) = fits_of([{"w": [1.0, 0.0], "sum": [1.0]}], [{"w": [2.0, 1.0], "sum": [3.0]}], weights={"w": [0.0, 2.0]})
    assert list(found.decay) == ["w"]
    (found,) = fits_of([{"sum": [1.0, 0.0]}], [{"sum": [2.0, 1.0]}], weights={"w": [0.0, 2.0]})
    assert found.decay == {} and found.data == found.fit.factor


def test_sides_with_other_numbers_of_replicas_are_not_compared():
    assert fits_of([{"w": [1.0, 0.0]}] * 2, [{"w": [1.0, 0.0]}]) == []


def test_gradients_of_other_shapes_are_left_out():
    (found,) = fits_of([{"w": [1.0, 0.0], "b": [1.0]}], [{"w": [1.0, 0.0], "b": [1.0, 1.0]}])
    assert list(found.tensors) == ["w"]


@pytest.mark.parametrize(
    "losses, finite", [(((1.0,), ()), (True, False)), (((0.0,), (1.0,)), (True, True)), (((), (1.0,)), (False, True))]
)
def test_a_missing_or_zero_loss_has_no_ratio(losses, finite):
    (found,) = fits_of([{"w": [1.0, 0.0]}], [{"w": [1.0, 0.0]}], losses)
    assert np.isnan(found.loss)
    assert found.loss_finite == finite


def test_no_gradient_at_all_has_no_factor():
    (found,) = fits_of([{"w": [0.0, 0.0]}], [{"w": [1.0, 0.0]}])
    assert np.isnan(found.data)
    assert found.decay == {}


def test_a_gradient_along_the_weight_leaves_the_datas_factor_open():
    fit = fit_factor_and_decay(arrays({"w": [1.0]}), arrays({"w": [2.0]}), arrays({"w": [1.0]}), ["w"])
    assert np.isnan(fit.data)


def test_a_weight_of_zeros_has_no_decay():
    fit = fit_factor_and_decay(arrays({"w": [1.0, 2.0]}), arrays({"w": [4.0, 8.0]}), arrays({"w": [0.0, 0.0]}), ["w"])
    assert fit == (4.0, {"w": 0.0}, 0.0)
