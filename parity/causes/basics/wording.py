"""Phrases that the findings of several causes share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.comparison.fits import near
from workloads.support.wording import counted

if TYPE_CHECKING:
    from parity.diagnosis.gradient_factors import GradientFactors


#: Most variables that a finding names.
MOST_NAMED = 4


def format_factor(value: float) -> str:
    """Returns a fitted number as reports print it: 4, 0.25, and with seven digits near 1: 1.0001."""
    return f"{value:.4g}" if not near(value, 1.0, 5e-3) else f"{value:.7g}"


def describe_fit(totals: GradientFactors) -> str:
    """Returns the number of fitted steps and the residual as a phrase."""
    return f"least-squares fit over {counted(totals.steps, 'step')} from the same state, residual {totals.residual:.1e}"


def shortest_decimal(value: float, tolerance: float = 1e-6) -> float:
    """Returns the number of the fewest decimal digits that is within a relative tolerance of a fitted constant.

    People write constants with few digits, and a fit is only as precise as rounding leaves it.

    >>> shortest_decimal(0.0009999871, 1e-4), shortest_decimal(0.12345678)
    (0.001, 0.1234568)
    """
    rounded = (float(f"{value:.{digits}e}") for digits in range(7))
    return next((number for number in rounded if near(number, value, tolerance)), value)


def decay_of_share(share: float) -> float:
    """Returns the decay 1 - share that was written down, given the share as it was fitted.

    >>> decay_of_share(0.00099998)
    0.999
    """
    return round(1.0 - shortest_decimal(share, 1e-3), 12)
