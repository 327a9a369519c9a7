import math
import types

import pytest

from parity.causes.penalties.decay_ratios import describe_decay_fit, fit_decay_ratios, newly_decayed_weights
from parity.diagnosis.context.job_context import Context
from tests.parity.causes.facts import gradient_factors, total_factor
from tests.parity.step_records import made_up_evidence

RATE = 0.25


def evidence(factors, decayed=("w", "u"), rate=RATE, replicas=2, penalized=None):
    context = Context(
        replicas=replicas,
        global_batch=8,
        weight_decay=rate,
        decayed=decayed,
        penalized=decayed if penalized is None else penalized,
    )
    return made_up_evidence((), context, gradient_factors=factors)


def ratios(*args, **known):
    return fit_decay_ratios(evidence(gradient_factors(*args, **known)))


def test_a_ratio_is_the_data_s_factor_and_the_extra_multiple_over_the_rate():
    found = ratios(1.0, 1.0, decay={"w": [0.25, 0.5]})  # 1 + 0.25 / 0.25 and 1 + 0.5 / 0.25
    assert (found.by_replica, found.base) == ([2.0, 3.0], 1.0)


def test_the_reduction_s_factor_is_no_fault_of_the_decay():
    found = ratios(1.0, 2.0, decay={"w": [0.5, 0.5]})  # (2 + 0.5 / 0.25) / 2
    assert (found.by_replica, found.base) == ([2.0, 2.0], 2.0)


def test_a_decay_that_counts_once_in_all_is_right_whatever_the_reduction():
    found = ratios(1.0, 2.0, decay={"w": [-0.25, -0.25]})  # 2 - 0.25 / 0.25
    assert (found.by_replica, found.base) == ([1.0, 1.0], 1.0)


def test_the_base_is_one_where_replicas_have_a_factor_or_are_hidden():
    assert ratios(0.5, 2.0, decay={"w": [0.25, 0.25]}).base == 1.0
    assert fit_decay_ratios(evidence(total_factor(2.0, decay={"w": [0.25]}))).base == 1.0


def test_all_weights_must_have_the_same_ratio():
    assert ratios(decay={"w": [0.25, 0.25], "u": [0.25, 0.25]}).by_replica == [2.0, 2.0]
    assert ratios(decay={"w": [0.25, 0.25], "u": [0.5, 0.5]}) is None
    assert ratios(decay={"w": [0.25, 0.25], "u": [0.2525, 0.25]}) is not None  # 2.01 against 2


@pytest.mark.parametrize(
    "unknown",
    [
        evidence(None),
        evidence(gradient_factors()),
        evidence(gradient_factors(decay={"w": [0.25]}), rate=None),
        evidence(gradient_factors(decay={"w": [0.25]}), rate=0.0),
        evidence(gradient_factors(decay={"w": [0.25], "bias": [0.25]})),
    ],
)
def test_an_equal_or_unknown_decay_or_one_of_other_weights_has_no_ratio(unknown):
    assert fit_decay_ratios(unknown) is None


def test_replicas_have_a_common_ratio_within_one_in_a_hundred():
    assert ratios(decay={"w": [0.25, 0.252]}).common == 2.0
    assert math.isnan(ratios(decay={"w": [0.25, 0.26]}).common)


def test_shares_are_replicas_with_one_nth_of_the_data_s_gradient():
    assert ratios(0.5, 2.0, decay={"w": [0.25, 0.25]}).is_in_shares(2)
    assert not ratios(0.5, 2.0, decay={"w": [0.25, 0.25]}).is_in_shares(4)
    assert not ratios(1.0, 1.0, decay={"w": [0.25, 0.25]}).is_in_shares(2)
    assert not fit_decay_ratios(evidence(total_factor(0.5, decay={"w": [0.25]}))).is_in_shares(2)


def test_newly_decayed_weights_are_those_that_legacy_does_not_decay():
    factors = gradient_factors(decay={"w": [0.25], "bias": [0.25], "scale": [0.0], "a": [-0.25]})
    assert newly_decayed_weights(evidence(factors)) == ["a", "bias"]
    assert newly_decayed_weights(evidence(factors, decayed=None)) == []
    assert newly_decayed_weights(evidence(None)) == []


def test_sums_of_gradients_are_no_weights_that_gain_a_decay():
    fits = [types.SimpleNamespace(tensors={"w": None, "kept": None})]
    context = Context(replicas=2, global_batch=8, weight_decay=RATE, decayed=None, penalized=None)
    factors = gradient_factors(decay={"w": [0.25]})
    assert newly_decayed_weights(made_up_evidence((), context, gradient_factors=factors, gradients=fits)) == []


def test_the_fit_is_described_by_its_factor_and_residual():
    assert describe_decay_fit(gradient_factors(1.0, 2.0)) == (
        "fitted g = a g_legacy + d w in 4 steps from the same state: data factor 2, residual 1.0e-08"
    )
    assert ratios(decay={"w": [0.25, 0.25]}).because == describe_decay_fit(gradient_factors())
