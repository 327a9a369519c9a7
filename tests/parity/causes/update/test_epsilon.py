from unittest import mock

import pytest

from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.update import epsilon, update_form
from parity.diagnosis.signatures.fitted_epsilon import FittedEpsilon
from tests.parity.causes.update_facts import recognized_causes, side
from workloads import optimizers

CAUSES = epsilon.CAUSES + update_form.CAUSES
ADAM, RMSPROP = optimizers.Adam(epsilon=1e-8), optimizers.RMSProp()


def recognized(left, right, optimizer=ADAM):
    return recognized_causes(CAUSES, left, right, optimizer)


def test_another_epsilon_is_named():
    found = recognized(side(large=5000.0), side(own=5000.0, large=1.0, other=3000.0))
    assert list(found) == ["ADAM_EPS"]
    assert found["ADAM_EPS"].confidence == HIGH
    assert found["ADAM_EPS"].sentence == (
        "Adam in the port uses epsilon 1e-3 where legacy uses 1e-08: the updates differ most where gradients are small."
    )
    assert found["ADAM_EPS"].because == (
        "with 1e-3 the update is explained to 1.0 roundings (root mean square), with legacy's to 5000"
    )


def test_the_epsilon_of_rmsprop_has_a_cause_of_its_own():
    found = recognized(side(large=5000.0), side(own=5000.0, large=1.0), RMSPROP)
    assert list(found) == ["RMSPROP_EPS"]
    assert found["RMSPROP_EPS"].sentence.startswith("RMSProp in the port uses epsilon 1e-3 where legacy uses 1e-10:")


def test_the_epsilon_of_adagrad_has_a_cause_of_its_own():
    found = recognized(side(large=5000.0), side(own=5000.0, large=1.0), optimizers.Adagrad())
    assert list(found) == ["ADAGRAD_EPS"]


@pytest.mark.parametrize(
    "own, large, named",
    [
        (100.0, 19.0, True),
        (100.0, 21.0, False),
        (1010.0, 199.0, True),
        (1010.0, 201.0, False),  # neither is explained
        (1e6, 999.0, True),  # a thousandth of the other is enough
        (1e6, 1001.0, False),
        (20.0, 3.9, True),  # the own form explains the update, the other far better
        (20.0, 4.1, False),
    ],
)
def test_another_epsilon_explains_the_update_far_better(own, large, named):
    found = recognized(side(large=1e7), side(own=own, large=large))
    assert ("ADAM_EPS" in found) == named


def test_an_epsilon_that_shows_no_value_is_one_of_at_most_so_much():
    with mock.patch.object(epsilon, "smaller_fits_too", return_value=True):
        found = recognized(side(large=5000.0), side(own=5000.0, large=1.0))
    assert found["ADAM_EPS"].sentence.startswith("Adam in the port uses epsilon 1e-3 or a smaller one where legacy")


@pytest.mark.parametrize("left, named", [(0.6, True), (0.4, False)])
def test_an_epsilon_that_explains_legacy_better_too_is_no_cause(left, named):
    assert ("ADAM_EPS" in recognized(side(own=1.0, large=left), side(own=5000.0, large=1.0))) == named


@pytest.mark.parametrize("misfit, confidence", [(19.0, HIGH), (150.0, MEDIUM)])
def test_an_epsilon_is_sure_only_where_it_explains_the_update_to_rounding(misfit, confidence):
    found = recognized(side(large=5000.0), side(own=500000.0, large=misfit))
    assert found["ADAM_EPS"].confidence == confidence


@pytest.mark.parametrize("nesterov, named", [(5000.0, ["ADAM_EPS"]), (1.0, [])])
def test_a_fitted_epsilon_explains_the_update_better_than_any_formula_with_legacys(nesterov, named):
    fitted = FittedEpsilon("after the bias correction", 1e-5, 0.5)
    with mock.patch.object(epsilon, "fit_port_epsilon", return_value=fitted):
        found = recognized(side(nesterov=5000.0), side(own=5000.0, nesterov=nesterov))
    assert [name for name in found if name == "ADAM_EPS"] == named
