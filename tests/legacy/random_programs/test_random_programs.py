"""A few random programs of each kind; `python -m tests.legacy.random_programs` draws more."""

import dataclasses

import pytest

from tests.legacy.random_programs.expected import mistakes
from tests.legacy.random_programs.faults import FAULTS, can_have, with_fault
from tests.legacy.random_programs.pages import sections_of_traits, wrong_lines
from tests.legacy.random_programs.traits import CHOICES, Traits, plainer, random_traits

#: Seeds; the last ones once gave a page with a wrong line.
SOUND, FAULTY = (*range(12), 1112, 1359, 3311, 9906, 50016, 50019, 50036), (*range(100, 112), 1088, 9869)


@pytest.mark.parametrize("seed", SOUND)
def test_every_line_of_a_sound_program_is_right_and_no_hazard_is_named(seed):
    assert wrong_lines(random_traits(seed)) == []


@pytest.mark.parametrize("seed", FAULTY)
def test_the_fault_of_a_program_is_named_and_no_other(seed):
    assert wrong_lines(with_fault(random_traits(seed), seed)) == []


@pytest.mark.parametrize(
    "difference",
    [
        {"towers": 3},
        {"inputs": "open"},
        {"combine": "sum"},
        {"clip": "norm after"},
        {"optimizer": "momentum"},
        {"rate": "exponential"},
        {"average": "after"},
        {"model": "batch norm of first"},
        {"fault": "same batch"},
    ],
    ids=str,
)
def test_the_page_of_another_program_is_found_to_be_wrong(difference):
    """Negative control: the plain program's page is none of a program with another trait."""
    plain = sections_of_traits(Traits())
    assert list(mistakes(Traits(), plain)) == []
    assert list(mistakes(dataclasses.replace(Traits(), **difference), plain)) != []


def test_programs_are_drawn_from_the_choices_and_can_have_their_faults():
    assert {field.name for field in dataclasses.fields(Traits)} == {*CHOICES, "fault"}
    assert Traits() == Traits(**{name: choices[0] for name, choices in CHOICES.items()})
    faulty = [with_fault(random_traits(seed), seed) for seed in range(300)]
    assert all(can_have(traits, traits.fault) for traits in faulty)
    assert {traits.fault for traits in faulty} == {*FAULTS}
    assert random_traits(5) == random_traits(5) != random_traits(6)


def test_plainer_programs_have_one_trait_less():
    found = list(plainer(Traits(rate="pieces", fault="same batch", towers=3)))
    assert found == [Traits(rate="pieces", fault="same batch"), Traits(fault="same batch", towers=3)]
