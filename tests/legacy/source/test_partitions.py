"""Parts of a variable that a standalone program joins to the whole which old checkpoints have."""

import pytest

from legacy.saved.graph.partitions import Part
from legacy.source.standalone.partitions import wholes_of, with_whole_variables
from legacy.source.standalone.text import trainer_text

ALL = slice(None)


def parts(shape, *cuts):
    return {f"w/part_{number}": Part("w", shape, each) for number, each in enumerate(cuts)}


@pytest.mark.parametrize(
    "found, expected",
    [
        (parts((4, 2), (slice(0, 2), ALL), (slice(2, 4), ALL)), {"w": (0, ["w/part_0", "w/part_1"])}),
        (parts((4, 2), (slice(2, 4), ALL), (slice(0, 2), ALL)), {"w": (0, ["w/part_1", "w/part_0"])}),
        (parts((4, 2), (ALL, slice(0, 1)), (ALL, slice(1, 2))), {"w": (1, ["w/part_0", "w/part_1"])}),
        (parts((4, 2), (slice(0, 2), ALL)), {}),  # the rest is missing
        (parts((4, 2), (slice(0, 3), ALL), (slice(2, 4), ALL)), {}),  # they overlap
        (parts((2, 2), (slice(0, 1), slice(0, 1)), (slice(1, 2), slice(1, 2))), {}),  # along two dimensions
    ],
)
def test_parts_of_one_dimension_make_a_whole(found, expected):
    assert wholes_of(found, found) == expected
    assert wholes_of(found, list(found)[:-1]) == {}  # a program that lacks a part


def test_a_program_without_parts_stays():
    text = trainer_text("", "", counted=True)
    assert with_whole_variables(text, {}) == text
    assert "saved[whole] = " in with_whole_variables(text, {"w": (0, ["w/part_0", "w/part_1"])})
