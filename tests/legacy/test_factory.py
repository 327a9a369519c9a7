"""The legacy program of a job: what cannot be combined is refused before a graph is built."""

import pytest

from legacy.factory import legacy_program
from legacy.options import LegacyOptions
from legacy.towers.program import LegacyProgram
from tests.cases import Dyadic
from workloads.job import Job
from workloads.sources import Synthetic
from workloads.support.errors import InputError


def program(staleness, updates):
    """The program of two towers."""
    job = Job(Dyadic(), staleness=staleness)
    return legacy_program(job, Synthetic(job), LegacyOptions(updates=updates), ["CPU:0", "CPU:1"])


@pytest.mark.parametrize("staleness", [0, 2])
def test_a_staleness_is_not_controlled_where_each_tower_updates_by_itself(staleness):
    with pytest.raises(InputError, match=f"--staleness: got {staleness}, cannot be set with --updates=async"):
        program(staleness, "async")


@pytest.mark.parametrize("staleness, updates", [(2, "sync"), (None, "sync")])
def test_others_are_made(staleness, updates):
    with program(staleness, updates) as made:
        assert isinstance(made, LegacyProgram)
