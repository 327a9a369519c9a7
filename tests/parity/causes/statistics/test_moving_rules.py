import pytest

from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.statistics import batch_norm, moving_rules
from parity.diagnosis.context.job_context import Context
from parity.diagnosis.facts.statistic_fits import StepShare
from tests.parity.causes.statistics_facts import (
    MEAN_NAME,
    VARIANCE_NAME,
    moves_of,
    moving_statistics,
    proposal_fit,
    recognized_causes,
)
from tests.parity.step_records import made_up_evidence

CAUSES = moving_rules.CAUSES + batch_norm.CAUSES
EPS = 2.0**-23
NAN = float("nan")


def recognized(facts, batches=()):
    return recognized_causes(CAUSES, facts, batches)


def with_fits(mean=None, variance=None, **known):
    return recognized(moving_statistics(moves=moves_of(mean, variance), **known))


@pytest.mark.parametrize("factor, count", [(1.25, 5.0), (0.75, 4.0), (2.0, 2.0), (1 - 2.0**-10, 1024.0)])
def test_the_count_of_a_bessel_factor(factor, count):
    assert moving_rules.bessel_count(factor) == pytest.approx(count, rel=1e-12)


def test_a_variance_without_bessel_s_correction_is_named():
    found = with_fits(variance=proposal_fit(share=0.5, factor=0.75))
    assert list(found) == ["BN_BESSEL"]
    assert found["BN_BESSEL"].confidence == HIGH
    assert found["BN_BESSEL"].sentence == (
        "The variance that enters the port's moving variance is 0.75 x legacy's (4 examples and positions in "
        "norm/moving_variance): one side stores it with Bessel's correction n / (n - 1), the other without."
    )


@pytest.mark.parametrize("mean, factor, causes", [(1e-4, 0.75, ["BN_BESSEL"]), (0.02, 0.75, []), (6e-5, 1 - 1e-3, [])])
def test_a_variance_that_differs_with_its_mean_has_no_bessel_factor(mean, factor, causes):
    moved = with_fits(proposal_fit(share=1.0, share_residual=mean), proposal_fit(factor=factor))
    assert [name for name in moved if name == "BN_BESSEL"] == causes


def test_the_layer_with_the_fewest_values_is_named():
    few, many = proposal_fit(factor=0.75), proposal_fit(factor=1 - 2.0**-6)
    facts = moving_statistics(moves={"b/variance": [many], "a/variance": [few], "a/mean": [proposal_fit()]})
    assert "(4 examples and positions in a/variance)" in recognized(facts)["BN_BESSEL"].sentence


@pytest.mark.parametrize("count, causes", [(5.09, ["BN_BESSEL"]), (5.11, [])])
def test_a_count_is_whole_within_two_in_a_hundred(count, causes):
    assert list(with_fits(variance=proposal_fit(factor=1 - 1 / count))) == causes


def test_a_count_is_a_multiple_of_a_replicas_examples():
    def named(count, batch):
        moves = {MEAN_NAME: [proposal_fit()], VARIANCE_NAME: [proposal_fit(factor=1 - 1 / count)]}
        evidence = made_up_evidence((), Context(2, 2 * batch), statistics=moving_statistics(moves=moves), batches=[])
        return moving_rules.bn_bessel(evidence) is not None

    assert named(12, 6) and named(24, 8) and named(12, 12)
    assert not named(15, 6) and not named(9, 6) and not named(2, 6)


def test_noise_of_means_and_of_variances_in_both_directions_are_no_bessel_correction():
    def named(means, *factors):
        moves = {MEAN_NAME: [means], VARIANCE_NAME: [proposal_fit(factor=factor) for factor in factors]}
        return list(recognized(moving_statistics(moves=moves)))

    assert named(proposal_fit(), 1 - 1 / 1024, 1 - 1 / 1024) == ["BN_BESSEL"]
    assert named(proposal_fit(mix_residual=1e-3), 1 - 1 / 1024, 1 - 1 / 1024) == []  # as large as what the means show
    assert named(proposal_fit(), 1 - 1 / 1024, 1 + 1 / 1024, 1 - 1 / 1024) == []


@pytest.mark.parametrize("factor, causes", [(1 + 0.9e-5, []), (1 + 1.1e-5, ["BN_BESSEL"])])
def test_a_count_may_be_as_large_as_a_hundred_thousand(factor, causes):
    assert list(with_fits(variance=proposal_fit(factor=factor))) == causes


@pytest.mark.parametrize("residual, causes", [(799 * EPS, ["BN_BESSEL"]), (801 * EPS, []), (NAN, [])])
def test_a_bessel_factor_explains_the_variance_to_rounding(residual, causes):
    assert list(with_fits(variance=proposal_fit(factor=0.75, mix_residual=residual))) == causes


@pytest.mark.parametrize("leverage, causes", [(1.0, ["BN_BESSEL"]), (900.0, ["BN_BESSEL"]), (1100.0, [])])
def test_a_factor_that_roundings_of_the_moving_variance_can_make_is_no_bessel_factor(leverage, causes):
    variance = proposal_fit(factor=1 + 1000 * EPS, leverage=leverage)
    assert list(with_fits(variance=variance)) == causes


@pytest.mark.parametrize(
    "mean, variance, causes",
    [
        (10.0, 10.0, ["BN_DECAY_099_0999"]),
        (10.0, 9.5, ["BN_DECAY_099_0999"]),  # with Bessel's correction on one side
        (1.0039, 1.0039, ["BN_DECAY_099_0999"]),
        (1.0039, 0.9967, []),  # inputs of another scale: a variance that falls from one falls less far
        (1.0039, 0.9996, []),  # a small one
        (2.0, 4.0, []),
    ],
)
def test_another_momentum_moves_variances_as_it_moves_means(mean, variance, causes):
    assert list(with_fits(proposal_fit(share=mean), proposal_fit(share=variance, factor=NAN))) == causes


def test_means_that_do_not_agree_hide_a_bessel_factor():
    variance = proposal_fit(factor=0.75)
    assert list(with_fits(proposal_fit(share=1.0009), variance)) == ["BN_BESSEL"]
    variance = proposal_fit(share=1.0011, factor=0.75)
    assert list(with_fits(proposal_fit(share=1.0011), variance)) == ["BN_DECAY_099_0999"]
    assert recognized(moving_statistics(moves={VARIANCE_NAME: [variance]})) == {}
    assert recognized(moving_statistics(moves={MEAN_NAME: [proposal_fit()]})) == {}


@pytest.mark.parametrize("share, libraries", [(10.0, True), (0.1, True), (10.3, False), (3.0, False)])
def test_another_momentum_is_named(share, libraries):
    found = with_fits(proposal_fit(share=share))
    assert list(found) == ["BN_DECAY_099_0999"]
    assert found["BN_DECAY_099_0999"].sentence == (
        f"The port's moving statistics take in {share:g} x legacy's share of a batch: 1 - momentum differs by that "
        "factor" + (" (10 is 0.99 against 0.999)." if libraries else ".")
    )


@pytest.mark.parametrize("residual, causes", [(0.9e-3, ["BN_DECAY_099_0999"]), (1.1e-3, [])])
def test_another_momentum_explains_the_means_within_one_in_a_thousand(residual, causes):
    assert list(with_fits(proposal_fit(share=10.0, share_residual=residual))) == causes


@pytest.mark.parametrize("spread, causes", [(0.991, ["BN_DECAY_099_0999"]), (0.989, [])])
def test_another_momentum_has_one_ratio_within_one_in_a_hundred(spread, causes):
    moves = {MEAN_NAME: [proposal_fit(share=8.0), proposal_fit(share=8.0 * spread)]}
    assert list(recognized(moving_statistics(moves=moves))) == causes


def shares(ratios, parts):
    return [StepShare(step, ratio, part) for step, (ratio, part) in enumerate(zip(ratios, parts))]


def with_shares(*known):
    return with_fits(proposal_fit(share=10.0), shares=shares(*known)).get("BN_DECAY_099_0999")


def test_a_cumulative_average_is_no_other_momentum():
    finding = with_shares([10.0, 5.0, 10 / 3, 2.5], [NAN, 0.5, 1 / 3, 0.25])
    assert finding.confidence == HIGH
    assert "a cumulative average (PyTorch's momentum=None)" in finding.sentence


@pytest.mark.parametrize(
    "ratios, parts, confidence, words",
    [
        ([10.0, 10.0, 10.0], [NAN, 0.1, 0.1], HIGH, "10 is 0.99 against 0.999"),
        ([10.0], [NAN], MEDIUM, "10 is 0.99 against 0.999"),
        ([10.0, 8.0, 6.0], [NAN, 0.8, 0.6], MEDIUM, "changes with the steps"),
        ([10.0, 5.0, 10 / 3], [NAN, 0.2, 0.1], MEDIUM, "changes with the steps"),
    ],
)
def test_one_momentum_shows_in_more_steps_than_one(ratios, parts, confidence, words):
    finding = with_shares(ratios, parts)
    assert finding.confidence == confidence
    assert words in finding.sentence and "cumulative" not in finding.sentence
