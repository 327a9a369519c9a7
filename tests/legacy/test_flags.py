"""Flags of the tower graph: the options that they describe."""

import pytest
from absl import flags

from legacy import flags as legacy_flags
from legacy.options import LegacyOptions
from tests.own_flags import set_flags


@pytest.fixture(autouse=True)
def parsed():
    """Parses an empty command line, and forgets it afterwards."""
    flags.FLAGS.mark_as_parsed()
    yield
    flags.FLAGS.unparse_flags()


def options(exact=True, resident=False, **values):
    with set_flags(flags.FLAGS, **values):
        return legacy_flags.options_from_flags(exact, resident)


def test_the_defaults_are_those_of_the_options():
    assert options() == LegacyOptions(exact=True)
    assert options(exact=False) == LegacyOptions()


def test_every_flag_reaches_the_options():
    made = options(legacy_variables="tower", legacy_average="add_n", pin_towers_to_cpu=True, updates="async")
    assert (made.variables, made.average, made.pin_towers_to_cpu, made.updates) == ("tower", "add_n", True, "async")


def test_resident_batches_are_held_by_the_towers_unless_the_user_says_otherwise():
    assert options(resident=True).input == "resident"
    assert options(resident=True, legacy_input="queue").input == "queue"
