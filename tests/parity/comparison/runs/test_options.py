"""Options of a comparison: their defaults compare identical bits along two free trajectories, and nothing else."""

import dataclasses

import pytest

from parity.comparison.runs.options import ALONE, IDENTICAL_BITS, UNOBSERVED, Criterion


def test_by_default_two_programs_run_alone_and_nobody_looks():
    assert Criterion("free", "exact", {}) == IDENTICAL_BITS and not IDENTICAL_BITS.is_locked
    assert (ALONE.lockstep, ALONE.references, ALONE.alternatives) == (None, None, ())
    assert [getattr(UNOBSERVED, name) for name in ("tour", "rules", "history", "progress", "at_end")] == [None] * 5
    assert UNOBSERVED.stop() is False


def test_options_are_fixed_once_they_are_made():
    assert Criterion("locked").is_locked
    with pytest.raises(dataclasses.FrozenInstanceError):
        Criterion("locked").mode = "free"
