import pytest

from parity.causes.basics.wording import describe_fit, format_factor
from tests.parity.causes.facts import gradient_factors


@pytest.mark.parametrize(
    "value, text",
    [(4.0, "4"), (0.25, "0.25"), (1.0 / 3.0, "0.3333"), (1.00012, "1.00012"), (1.004, "1.004"), (1.00612, "1.006")],
)
def test_numbers_have_four_digits_and_seven_near_one(value, text):
    assert format_factor(value) == text


def test_a_fit_is_described_by_its_steps_and_residual():
    assert describe_fit(gradient_factors(residual=2.5e-7)) == (
        "least-squares fit over 4 steps from the same state, residual 2.5e-07"
    )
