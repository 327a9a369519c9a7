"""Marks of whole lists of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def slow_after(count: int, cases: Sequence[Any]) -> list[Any]:
    """Returns the cases as parameters of a test; those after the first `count` run under `make test-slow` only.

    For cases that each start a command, and so TensorFlow, to see one message: the first stand for the way to it.

    Args:
      count: number of cases that `make test` runs.
      cases: values, or tuples of values.
    """
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=[pytest.mark.slow] * (number >= count))
        for number, case in enumerate(cases)
    ]
