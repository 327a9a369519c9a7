"""Flags of the port: the options that they describe, and combinations that are refused."""

import pytest
from absl import flags

from modern import flags as modern_flags
from modern.options import ModernOptions
from tests.own_flags import set_flags
from workloads.support.errors import InputError


@pytest.fixture(autouse=True)
def parsed():
    """Parses an empty command line, and forgets it afterwards."""
    flags.FLAGS.mark_as_parsed()
    yield
    flags.FLAGS.unparse_flags()


def test_the_defaults_are_those_of_the_options_but_for_two():
    defaults = ModernOptions(exact=True, steps_per_call=100, variables="auto")
    assert modern_flags.options_from_flags(exact=True) == defaults


def test_every_flag_reaches_the_options():
    values = {"all_reduce": "auto", "update_rules": "keras", "autodiff": "tape", "steps_per_call": 7, "xla": True}
    values["variables"] = "mirrored"
    with set_flags(flags.FLAGS, **values):
        made = modern_flags.options_from_flags(exact=False, average="add_n")
    assert {name: getattr(made, name) for name in values} == values
    assert (made.average, made.exact) == ("add_n", False)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"workers": 0}, "--workers: got 0, must be at least 1"),
        ({"parameter_servers": 0}, "--parameter_servers: got 0, must be at least 1"),
        ({"replicas": 2}, "--replicas: got 2, a worker of a parameter server has one"),
        ({"staleness": 2}, r"--staleness: got 2, cannot be set with --strategy=parameter_server"),
        ({"variables": "first"}, "--variables: got 'first', with --strategy=mirrored"),
        ({"update_rules": "keras"}, "--update_rules: got 'keras', with parameter servers: tf1"),
    ],
)
def test_what_a_strategy_cannot_do_is_refused(values, message):
    with set_flags(flags.FLAGS, strategy="parameter_server", **values), pytest.raises(InputError, match=message):
        modern_flags.check_strategy()
    with set_flags(flags.FLAGS, strategy="parameter_server"):
        modern_flags.check_strategy()
