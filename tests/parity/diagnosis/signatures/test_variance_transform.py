import numpy as np
import pytest

from parity.diagnosis.signatures.variance_transform import fit_variance_transform
from tests.parity.step_records import compared_step, made_up_evidence, made_up_state, step_record

OLD = np.array([1.0, 1.0, 2.0])
VARIANCE = np.array([4.0, 0.25, 9.0])


def transform(function, share=0.1, right_share=None):
    """The fit of a port that takes in a function of the variance, from proposals of one step."""
    before = made_up_state({"w": [1.0]}, statistics={"n/variance": OLD, "n/mean": OLD})

    def proposal(taken, part):
        return {"n/variance": OLD + (taken - OLD) * part, "n/mean": OLD}

    left = step_record(proposals=[proposal(VARIANCE, share)])
    right = step_record(proposals=[proposal(function(VARIANCE), right_share or share)])
    return fit_variance_transform(made_up_evidence([compared_step(left, right, before)]))


@pytest.mark.parametrize(
    "function, name",
    [(np.sqrt, "standard deviation"), (lambda v: 1 / np.sqrt(v), "reciprocal of the standard deviation")],
)
def test_a_function_of_the_variance_is_found_with_its_share(function, name):
    found = transform(function)
    assert (found.name, found.statistics) == (name, ("n/variance",))
    assert found.share == pytest.approx(0.1, rel=1e-3)


def test_the_variance_itself_and_other_functions_are_none():
    assert transform(lambda v: v) is None
    assert transform(lambda v: v**2) is None
    assert transform(lambda v: 1.5 * v) is None
    assert transform(lambda v: v, right_share=0.2) is None
    assert transform(lambda v: v * np.nan) is None
