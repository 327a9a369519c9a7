"""Phrases that the findings of several causes share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parity.comparison.fits import near

if TYPE_CHECKING:
    from parity.diagnosis.gradient_factors import GradientFactors


def format_number(value: float) -> str:
    """Returns a fitted number as reports print it: 4, 0.25, and with seven digits near 1: 1.0001."""
    return f"{value:.4g}" if not near(value, 1.0, 5e-3) else f"{value:.7g}"


def describe_fit(totals: GradientFactors) -> str:
    """Returns the number of fitted steps and the residual as a phrase."""
    return f"least-squares fit over {totals.steps} steps from the same state, residual {totals.residual:.1e}"
