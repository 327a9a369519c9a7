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


@pytest.mark.parametrize("start, shapes", [((24, 17), "[7,23,1] vs. [7,16,1]"), ((24, 17), "[7,24,1] vs. [7,17,1]")])
def test_sizes_of_equal_shapes_may_be_one_larger(start, shapes):
    sizes = Sizes(0.0, {("x", 1): start[0], ("y", 1): start[1]}, 7)
    cheapest = sorted(corrected_sizes(sizes, True, shapes), key=lambda other: other.cost)[:2]
    assert [other.cost for other in cheapest] == [trial_sizes.SHAPE_COST] * 2
    assert {tuple(other.open.values()) for other in cheapest} == {(24, 24), (17, 17)}


@pytest.mark.parametrize("tied, wanted, cost", [(True, 66, 1.0), (True, 23, 0.25), (False, 66, 0.25)])
def test_sizes_that_are_tied_do_not_grow_by_the_same_factor_again_and_again(tied, wanted, cost):
    """What is repeated six times of a size that is tied to another one is six times as long at each size of both."""
    sizes = Sizes(0.0, {("x", 1): 11, ("y", 1): 11 if tied else 13}, 7)
    found = [
        other for other in corrected_sizes(sizes, True, f"[7,11] vs. [7,{wanted}]") if other.open["x", 1] == wanted
    ]
    assert min(other.cost for other in found) == cost


def test_an_image_gets_the_area_that_constant_anchors_have():
    open_sizes = {("x", 1): 64, ("x", 2): 96, ("labels", 1): 64, ("boxes", 1): 11}
    found = [one.open for one in corrected_sizes(Sizes(0.0, open_sizes, 7), False, "[7,768,4] vs. [1,128,4]")]
    assert {("x", 1): 32, ("x", 2): 32, ("labels", 1): 32, ("boxes", 1): 11} in found
    no_square = corrected_sizes(Sizes(0.0, open_sizes, 7), False, "[7,768,4] vs. [1,130,4]")
    assert not [one for one in no_square if one.open["x", 1] == one.open["x", 2] and one.cost == trial_sizes.AREA_COST]


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


def test_the_rows_of_what_a_tower_gets_whole_are_an_open_size_and_those_of_a_batch_are_not():
    entries = [Input(kind, "float32", [None, 2], kind, 0, [kind + ":0"], kind + ":0") for kind in ("whole", "batch")]
    sizes = trial_sizes.first_sizes(entries, 7)
    assert sizes.open == {("whole", 0): 11}
    assert [trial_sizes.with_sizes(entry, sizes).example for entry in entries] == [[11, 2], [None, 2]]


def test_the_columns_of_sparse_indices_are_no_open_sizes():
    """They number a tensor's dimensions, whose number TensorFlow asks for."""

    def entry(name, sparse=""):
        return Input(name, "int64", [None, None], "batch", 0, [name + ":0"], name + ":0", sparse=sparse)

    entries = [entry("labels/indices", "labels/indices"), entry("dense")]
    sizes = trial_sizes.first_sizes(entries, 7)
    assert list(sizes.open) == [("dense", 1)]
    assert [trial_sizes.with_sizes(one, sizes).example for one in entries] == [[], [None, 11]]


@pytest.mark.parametrize("pixels, expected", [(4, {7, 28}), (256, {7})])
def test_a_batch_does_not_become_the_number_of_all_pixels_of_some_images(pixels, expected):
    message = f"logits and labels must have the same first dimension, got logits shape [{7 * pixels},5] and labels [7]"
    corrected = list(corrected_sizes(Sizes(0.0, {}, 7), True, message))
    assert {other.batch for other in corrected if other.batch % 7 == 0} | {7} == expected
