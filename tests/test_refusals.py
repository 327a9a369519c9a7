"""The tool for tests of what a check accepts says what the check says."""

import pytest

from tests.refusals import refusal
from workloads.support.errors import require


def test_a_refusal_has_the_checks_own_message():
    assert refusal(require, True, "--steps", 1, "must be positive") == ""
    assert refusal(require, False, "--steps", 0, "must be positive") == "--steps: got 0, must be positive"


def test_other_errors_are_errors():
    with pytest.raises(ZeroDivisionError):
        refusal(lambda: 1 / 0)
