"""Texts of initializers in a plan."""

import pytest

from workloads.lifted.plan.initializers import is_initializer


@pytest.mark.parametrize(
    "text", ["constant 0.0", "constant -1e-05", "constant nan", "truncated_normal 0.1", "orthogonal 1.0"]
)
def test_a_kind_with_its_number_is_an_initializer(text):
    assert is_initializer(text)


@pytest.mark.parametrize("text", ["", "constant", "glorot_uniform 1.0", "normal 0.1", "constant 1.0; x"])
def test_another_text_is_none(text):
    assert not is_initializer(text)
