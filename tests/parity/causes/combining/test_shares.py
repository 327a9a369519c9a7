"""Shares are told from whole losses by their sizes, whatever else differs."""

import pytest

from parity.causes.combining.shares import averages_become_sums, share_of_replicas
from parity.diagnosis.candidates.combined_forms import CombinedForm
from tests.parity.causes.facts import FOUR_REPLICAS, combined_fit
from tests.parity.step_records import compared_step, made_up_evidence, step_record

MEAN, SUM = combined_fit(CombinedForm("mean")), combined_fit(CombinedForm("sum"))


def evidence(loss, gradient, fits=(MEAN, SUM)):
    left = step_record(losses=[1.0] * 4, gradients=[{"w": [4.0, 0.0]}] * 4)
    right = step_record(losses=[loss] * 4, gradients=[{"w": [0.0, gradient]}] * 4)
    return made_up_evidence([compared_step(left, right)], FOUR_REPLICAS, combined_fits=fits)


@pytest.mark.parametrize(
    "loss, gradient, share",
    [(0.25, 1.0, 0.25), (0.49, 1.9, 0.25), (0.51, 1.0, None), (0.25, 2.1, None), (1.0, 4.0, None)],
)
def test_a_share_is_nearer_to_a_quarter_than_to_all(loss, gradient, share):
    assert share_of_replicas(evidence(loss, gradient)) == share


@pytest.mark.parametrize("fits", [(MEAN, MEAN), (SUM, SUM), (SUM, MEAN), (None, SUM), (MEAN, None)])
def test_shares_are_summed_where_legacy_averages(fits):
    facts = evidence(0.25, 1.0, fits)
    assert not averages_become_sums(facts)
    assert share_of_replicas(facts) is None
