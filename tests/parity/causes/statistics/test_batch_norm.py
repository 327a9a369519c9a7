import dataclasses

import pytest

from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.statistics import batch_norm, moving_rules
from tests.parity.causes.facts import batch
from tests.parity.causes.statistics_facts import (
    MEAN_NAME,
    VARIANCE_NAME,
    moves_of,
    moving_statistics,
    proposal_fit,
    recognized_causes,
)

CAUSES = moving_rules.CAUSES + batch_norm.CAUSES
EPS = 2.0**-23
NAN = float("nan")


def recognized(facts, batches=()):
    return recognized_causes(CAUSES, facts, batches)


def with_fits(mean=None, variance=None, **known):
    return recognized(moving_statistics(moves=moves_of(mean, variance), **known))


def test_equal_proposals_are_no_cause():
    assert with_fits(gaps={MEAN_NAME: 0.0, VARIANCE_NAME: 0.0}) == {}


def test_no_statistics_are_no_cause():
    assert recognized(None) == {}
    assert recognized(moving_statistics()) == {}


@pytest.mark.parametrize(
    "known, causes",
    [
        ({}, ["SYNC_BN_ON"]),
        ({"alike": (0.5, 0.9e-4)}, ["SYNC_BN_ON"]),
        ({"alike": (0.5, 1.1e-4)}, []),
        ({"alike": (1.1e-3, 0.0)}, ["SYNC_BN_ON"]),
        ({"alike": (0.9e-3, 0.0)}, []),
        ({"alike": (0.5, NAN)}, []),
        ({"global_mean": 0.9e-4}, ["SYNC_BN_ON"]),
        ({"global_mean": 1.1e-4}, []),
        ({"borrowed": True}, []),
    ],
)
def test_synchronized_moments_are_named(known, causes):
    assert list(recognized(moving_statistics(**{"alike": (0.5, 0.0), "global_mean": 0.0, **known}))) == causes


def test_the_sentence_of_synchronized_moments():
    found = recognized(moving_statistics(alike=(0.5, 0.0), global_mean=0.0))["SYNC_BN_ON"]
    assert found.sentence == (
        "The port's replicas normalize with the moments of the global batch, each of legacy's towers with those of its "
        "own batch."
    )
    assert found.confidence == HIGH


@pytest.mark.parametrize(
    "first, second, causes",
    [
        (0.0, 0.01, ["BN_EPSILON"]),
        (9 * EPS, 0.01, ["BN_EPSILON"]),
        (11 * EPS, 0.01, []),
        (0.0, 1001 * EPS, ["BN_EPSILON"]),
        (0.0, 999 * EPS, []),
    ],
)
def test_another_epsilon_shows_after_the_first_normalization(first, second, causes):
    gaps = {"norm1/moving_mean": first, "norm2/moving_mean": second}
    assert list(recognized(moving_statistics(gaps=gaps))) == causes


def test_the_first_normalization_is_named():
    gaps = {"b/norm/moving_mean": 0.0, "a/norm/moving_mean": 0.0, "c/norm/moving_mean": 0.01}
    found = recognized(moving_statistics(gaps=gaps))["BN_EPSILON"]
    assert found.sentence.startswith("The first batch normalization (a/norm) sees the same moments on both sides")
    assert found.confidence == MEDIUM
    assert found.because == "largest gap of its proposals 0.0e+00; of 1 later ones up to 1.0e-02"


def test_other_examples_or_borrowed_proposals_hide_another_epsilon():
    gaps = {"norm1/moving_mean": 0.0, "norm2/moving_mean": 0.01}
    assert recognized(moving_statistics(gaps=gaps), [batch(same=False)]) == {}
    assert list(recognized(moving_statistics(gaps=gaps), [batch(same=True)])) == ["BN_EPSILON"]
    assert recognized(moving_statistics(gaps=gaps, borrowed=True)) == {}


def test_another_cause_of_batch_normalization_explains_the_gaps():
    gaps = {"norm1/moving_mean": 0.0, "norm2/moving_mean": 0.01}
    assert list(with_fits(proposal_fit(share=10.0), gaps=gaps)) == ["BN_DECAY_099_0999"]
    assert list(with_fits(variance=proposal_fit(factor=0.75), gaps=gaps)) == ["BN_BESSEL"]
    assert list(with_fits(alike=(0.5, 0.0), global_mean=0.0, gaps=gaps)) == ["SYNC_BN_ON"]


def test_one_layers_own_momentum_is_no_epsilon():
    """One layer's proposals take in another share of the batch; every normalization sees the same moments."""
    gaps = {"norm1/moving_mean": 0.0, "norm2/moving_mean": 0.01}
    other = {"norm1/moving_mean": [proposal_fit()], "norm2/moving_mean": [proposal_fit(share=2.0)]}
    assert "BN_EPSILON" not in recognized(moving_statistics(gaps=gaps, moves=other))
    other["norm2/moving_mean"] = [proposal_fit(share=2.0, share_residual=0.1)]
    assert "BN_EPSILON" in recognized(moving_statistics(gaps=gaps, moves=other))


@pytest.mark.parametrize(
    "smaller, gap, named",
    [(0.95, 0.01, True), (0.05, 0.01, True), (0.5, 0.01, False), (0.89, 0.01, False), (0.95, 0.5, False)],
)
def test_epsilon_moves_later_variances_in_one_direction_and_not_far(smaller, gap, named):
    gaps = {"norm1/moving_variance": 0.0, "norm2/moving_variance": gap}
    facts = dataclasses.replace(moving_statistics(gaps=gaps), smaller={"norm2/moving_variance": smaller})
    assert ("BN_EPSILON" in recognized(facts)) == named


@pytest.mark.parametrize("gap, named", [(0.29, True), (0.31, False)])
def test_epsilon_does_not_move_later_means_far(gap, named):
    gaps = {"norm1/moving_mean": 0.0, "norm2/moving_mean": gap, "norm2/moving_variance": 0.01}
    facts = dataclasses.replace(moving_statistics(gaps=gaps), smaller={"norm2/moving_variance": 1.0})
    assert ("BN_EPSILON" in recognized(facts)) == named
