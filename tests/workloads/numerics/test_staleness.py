"""Which gradient is applied when, in asynchronous training in a fixed order."""

import numpy as np
import pytest

from tests.cases import Dyadic
from workloads.job import Job
from workloads.numerics import staleness as pending
from workloads.support.errors import InputError


@pytest.mark.parametrize(
    "replicas, staleness, missing",
    [(2, 0, [0, 0, 0]), (2, 1, [1, 0, 0]), (2, 4, [2, 2, 0]), (2, 5, [2, 2, 1]), (4, 4, [4, 0, 0])],
)
def test_the_first_updates_have_no_gradient_yet(replicas, staleness, missing):
    assert [pending.updates_without_gradient(staleness, replicas, step) for step in range(3)] == missing


def test_gradients_wait_in_a_slot_of_their_weight():
    weight = np.ones((3, 2), np.float32)
    (slot,) = pending.initial_slots(5, "w", weight).items()
    assert slot[0] == "w/pending" and slot[1].shape == (5, 3, 2) and slot[1].dtype == np.float32
    assert not slot[1].any()
    assert pending.initial_slots(0, "w", weight) == {}
    assert pending.initial_slots(None, "w", weight) == {}


def test_staleness_belongs_to_the_job_only_where_it_is_asked_for():
    assert "staleness" not in Job(Dyadic()).describe()
    assert Job(Dyadic(), staleness=0).digest() != Job(Dyadic()).digest()
    with pytest.raises(InputError, match="--staleness: got -1"):
        Job(Dyadic(), staleness=-1)


def test_updates_are_found_by_the_labels_of_their_gradients():
    labelled = pending.label_updates([{"w": 1.0, "a: b": 2.0}, {"w": 3.0}])
    assert pending.updates_by_number(labelled) == {0: {"w": 1.0, "a: b": 2.0}, 1: {"w": 3.0}}
