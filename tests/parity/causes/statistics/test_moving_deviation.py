import pytest

from parity.causes.basics.cause import HIGH
from parity.causes.statistics import moving_deviation
from parity.diagnosis.signatures.variance_transform import VarianceTransform
from tests.parity.step_records import made_up_evidence


def test_a_function_of_the_variance_is_named_and_none_is_not():
    evidence = made_up_evidence()
    evidence.facts["fit_variance_transform"] = VarianceTransform("standard deviation", 0.1, ("n/variance",), 1e-6)
    finding = moving_deviation.moving_deviation(evidence)
    assert (finding.confidence, finding.variables) == (HIGH, ("n/variance",))
    assert finding.constants["share"] == pytest.approx(0.1)
    evidence.facts["fit_variance_transform"] = None
    assert moving_deviation.moving_deviation(evidence) is None
