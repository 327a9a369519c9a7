"""The command `parity.verify`: which comparison it makes, and its exit status."""

import dataclasses
from unittest import mock

import pytest

from parity.comparison.result import Verdict
from tests.own_flags import own_flags, set_flags

with own_flags():
    import parity.verify as verify


@dataclasses.dataclass
class MadeUpSetup:
    """Stands for a `Setup`."""

    job: mock.Mock
    replicated: bool = False


@pytest.mark.parametrize("verdict, status", [(Verdict.PARITY, 0), (Verdict.NO_PARITY, 1), (Verdict.NOT_SHOWN, 3)])
@pytest.mark.parametrize(
    "lifted, recording, three_ways",
    [(True, "folder", True), (True, "run.npz", False), (True, None, False), (False, "folder", False)],
)
def test_a_lifts_folder_of_records_is_compared_three_ways(lifted, recording, three_ways, verdict, status, monkeypatch):
    made, called = MadeUpSetup(mock.Mock()), []
    made.job.workload.is_lifted = lifted
    monkeypatch.setattr(verify.environment, "prepare", lambda exact: None)
    monkeypatch.setattr(verify.parity_flags, "setup_from_flags", lambda exact: made)
    monkeypatch.setattr(verify, "_verify_recorded_run", lambda _: called.append("three ways") or verdict)
    monkeypatch.setattr(verify, "_verify_programs", lambda _: called.append("programs") or verdict)
    with set_flags(verify.FLAGS, recording=recording):
        assert verify.main() == status
    assert called == ["three ways" if three_ways else "programs"]
