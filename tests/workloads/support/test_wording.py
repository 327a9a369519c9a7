"""Singular and plural of a count's noun."""

import pytest

from workloads.support.wording import counted, plural


@pytest.mark.parametrize("count, text", [(0, "towers"), (1, "tower"), (2, "towers")])
def test_only_one_is_singular(count, text):
    assert plural(count, "tower", "towers") == text


@pytest.mark.parametrize("count, text", [(0, "0 steps"), (1, "1 step"), (2, "2 steps"), (-1, "-1 steps")])
def test_a_regular_plural_has_an_s(count, text):
    assert counted(count, "step") == text


@pytest.mark.parametrize("count, text", [(1, "1 term is"), (3, "3 terms are")])
def test_an_irregular_plural_is_given(count, text):
    assert counted(count, "term is", "terms are") == text
