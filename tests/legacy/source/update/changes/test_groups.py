"""Lists of weights by their names in the text."""

import doctest

from legacy.source.update.changes import groups


def test_a_list_has_its_name_in_any_order_and_all_lists_are_joined():
    known = {"A": ["a", "b"], "B": ["c"]}
    assert groups.text_of_group(["b", "a"], known) == "A"
    assert groups.text_of_group(["a", "b", "c"], known) == "A + B"
    assert groups.text_of_group(["a", "c"], known) == ""


def test_the_example():
    assert doctest.testmod(groups).failed == 0
