"""Numbers in errors of ops become sizes of the dimensions that they name."""

import pytest

from legacy.saved.data_trial import trial_sizes
from legacy.saved.data_trial.trial_sizes import Sizes, corrected_sizes
from workloads.lifted.plan import Input


def test_numbers_in_the_name_of_a_node_are_no_sizes():
    message = "Incompatible shapes: [7,2] vs. [7,13]\n\t [[{{node tower_1/layer5/sub}}]] at 3.5 in fc6/9"
    assert trial_sizes.SIZE_PATTERN.findall(message) == ["7", "2", "7", "13"]


@pytest.mark.parametrize("message, expected", [("shapes [7,3] vs. [7,11]", {3, 7}), ("no numbers", set())])
def test_numbers_in_an_error_become_sizes(message, expected):
    sizes = Sizes(0.0, {("x", 1): 11}, 7)
    corrected = list(corrected_sizes(sizes, True, message))
    assert {other.open["x", 1] for other in corrected if other.batch == 7} - {11} == expected
    assert all(other.cost > 0 for other in corrected)
    constant, tie = (min(o.cost for o in corrected if o.open["x", 1] == s) for s in (3, 7)) if expected else (0, 1)
    assert constant < tie


def test_products_of_sizes_are_divided():
    sizes = Sizes(0.0, {("x", 1): 11}, 4)
    message = "a tensor with 44 values, but the requested shape has 12"
    assert min(corrected_sizes(sizes, False, message)).open == {("x", 1): 3}


def test_every_open_dimension_has_its_own_prime_but_the_examples():
    def entry(name, shape):
        return Input(name, "float32", shape, "batch", 0, [name + ":0"], name + ":0")

    entries = [entry("x", [None, None, 3, None]), entry("y", [None, None])]
    sizes = trial_sizes.first_sizes(entries, 7)
    assert sizes.open == {("x", 1): 64, ("x", 3): 13, ("y", 1): 17} and sizes.batch == 7  # x has an image's rank
    assert trial_sizes.with_sizes(entries[1], sizes).example == [None, 17]
    assert trial_sizes.with_sizes(entries[1], Sizes(0.0, {("y", 1): 7}, 7)).example == [None, None]  # as the batch
