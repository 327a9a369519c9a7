"""Batches that both sides share: float64 rounded once, names and dtypes of the port."""

import dataclasses

import numpy as np
import pytest

from parity.against.shared_batches import OldGraphBatches, PortBatches
from parity.coverage.mutants.native_mutants import input_mutants
from tests.cases import Dyadic
from workloads.job import Job
from workloads.sources import Source
from workloads.support.errors import InputError
from workloads.workload import InputSpec


@dataclasses.dataclass(frozen=True)
class Labelled(Dyadic):
    """`Dyadic` with labels."""

    def inputs(self):
        return {"x": InputSpec(()), "labels": InputSpec((), "int", 3)}


class Given(Source):
    """One batch for each of two replicas; counts how often it is asked."""

    asked = 0

    def __init__(self, job, labels):
        super().__init__(job)
        self._labels = labels

    def shards(self, step):
        self.asked += 1
        return [{"old_x": np.array([0.1, step]), "old_labels": np.array(self._labels)} for _ in range(2)]


def batches(labels, dtype="float32"):
    job = Job(Labelled(), 2, 4, dtype)
    given = Given(job, labels)
    old = OldGraphBatches(job, given)
    return given, old, PortBatches(job, old, {"x": "old_x", "labels": "old_labels"})


def test_both_sides_get_the_same_numbers():
    given, old, port = batches([1, 2])
    shard = port.shards(5)[0]
    assert old.shards(5)[0]["old_x"].tolist() == shard["x"].tolist() == [float(np.float32(0.1)), 5.0]
    assert (shard["x"].dtype, shard["labels"].dtype, shard["labels"].tolist()) == (np.float32, np.int32, [1, 2])
    assert given.asked == 1
    assert batches([1, 2], "float64")[2].shards(0)[0]["x"].dtype == np.float64


def test_sizes_that_differ_by_step_stay_open():
    given, old, port = batches([1, 2])
    given.shapes = lambda: {"old_x": (None,), "old_labels": (2,)}
    assert old.shapes() == {"old_x": (None,), "old_labels": (2,)} and port.shapes() == {"x": (None,), "labels": (2,)}


def test_each_example_has_a_copy_of_what_is_no_batch():
    job = Job(Labelled(), 2, 4)
    port = PortBatches(job, Given(job, 2), {"x": "old_x", "labels": "old_labels"}, ["labels"])
    assert port.shards(0)[1]["labels"].tolist() == [2, 2]
    names = {"input of the replicas", "input x"}  # equal rows of labels are no reason for a doubt
    assert {mutant.name for mutant in input_mutants(job, port)} == names


def test_a_number_beyond_int32_is_refused():
    with pytest.raises(InputError, match="'labels' holds 8589934592, more than a workload's int32 inputs"):
        batches([1, 1 << 33])[2].shards(0)
