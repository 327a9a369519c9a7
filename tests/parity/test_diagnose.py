"""The command `parity.diagnose`: its flags and its exit status."""

import dataclasses

import pytest

from parity.causes.basics.cause import HIGH, Finding, RecognizedCause
from parity.causes.catalogue import CAUSES
from parity.diagnosis.stage_checks.deviation import Deviation
from tests.own_flags import own_flags, set_flags
from workloads.support.errors import InputError

with own_flags():
    import parity.diagnose as diagnose


def recognized(bug):
    return RecognizedCause(dataclasses.replace(CAUSES[0], bug=bug), Finding("sentence", HIGH, "because"))


@pytest.mark.parametrize(
    "differs, bugs, status",
    [
        (False, [], 0),
        (True, [], 1),  # for an unknown reason
        (True, [False], 0),  # in other terms only
        (True, [False, True], 1),
        (False, [True], 0),  # a cause without a difference of any bit
    ],
)
def test_a_difference_fails_unless_it_is_in_other_terms_only(differs, bugs, status):
    assert diagnose.exit_status(differs, [recognized(bug) for bug in bugs]) == status


def test_an_unexplained_deviation_fails_beside_a_difference_in_other_terms():
    deviation = Deviation("weights", "w", (0,), (0,), 9.0, "")
    assert diagnose.exit_status(True, [recognized(bug=False)], [deviation]) == 1
    assert diagnose.exit_status(False, [], [deviation]) == 0


@pytest.mark.parametrize("given, missing", [({}, "left"), ({"left": "a.npz"}, "right")])
def test_both_recordings_must_be_named(given, missing):
    refused = pytest.raises(InputError, match=f"--{missing}: got None, name a recording")
    with set_flags(diagnose.FLAGS, **given), refused:
        diagnose.main()
