"""A far step of a stream has a near batch; of arrays its own."""

import itertools

import numpy as np

from parity.verdict.near_batches import MARGIN, NearBatches, with_near_batches
from tests.cases import Dyadic, setup
from workloads.data.function import FunctionData
from workloads.data.own_data import OwnData
from workloads.job import Job

JOB = Job(Dyadic(), 2, 4)


def endless(global_batch):
    return ({"x": np.float32(number)} for number in itertools.count())


def hundred(global_batch):
    return {"x": np.arange(100)}


def make(function):
    return lambda job: OwnData(job, FunctionData("mine", function), shuffle=False)


def test_a_far_step_of_a_stream_is_near():
    near = NearBatches(JOB, make(endless), steps=10)
    assert near.batch(3)["x"].tolist() == [12, 13, 14, 15]
    assert near.batch(10**9 + 3)["x"].tolist() == near.batch(3)["x"].tolist()
    assert near.shards(10**9 + 3)[1]["x"].tolist() == [14, 15]
    assert near.is_read_in_order is False and near.ends() == () and near.steps(1) is None


def test_a_far_step_of_arrays_is_its_own():
    near, own = NearBatches(JOB, make(hundred), steps=10), make(hundred)(JOB)
    assert near.batch(24)["x"].tolist() == own.batch(24)["x"].tolist() == [96, 97, 98, 99]
    assert (near.ends(), near.steps(2)) == ((24,), 50)


def test_both_programs_of_a_setup_have_them():
    made = with_near_batches(setup(Dyadic(), source=make(endless)), steps=2)
    source = made.make_source(made.job)
    assert source.batch(2 + MARGIN)["x"].tolist() == source.batch(0)["x"].tolist()


def test_what_a_source_says_of_its_inputs_stays():
    def with_copies(job):
        source = make(hundred)(job)
        source.copied, source.shared = ["x"], ["y"]
        source.shapes = lambda: {"x": (None,)}  # of batches that are padded
        return source

    near = NearBatches(JOB, with_copies, steps=10)
    assert (near.copied, near.shared, near.shapes()) == (["x"], ["y"], {"x": (None,)})
