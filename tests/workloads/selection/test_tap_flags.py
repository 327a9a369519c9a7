"""`--taps` with and without names."""

import pytest
from absl import flags

from workloads.selection.tap_flags import define_taps, taps_from_flags


@pytest.mark.parametrize(
    "given, expected",
    [
        ([], ()),
        (["--taps"], ("*",)),
        (["--notaps"], ()),
        (["--taps=stem,*relu"], ("stem", "*relu")),
        (["--taps=*"], ("*",)),
        (["--taps="], ()),
    ],
)
def test_the_flag_may_stand_alone(given, expected):
    values = flags.FlagValues()
    define_taps(values)
    values(["command", *given])
    assert taps_from_flags(values) == expected


def test_a_command_without_the_flag_records_none():
    assert taps_from_flags(flags.FlagValues()) == ()
