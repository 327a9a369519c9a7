"""Evaluation under a strategy: the session's bits, whatever the number of replicas."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from modern.mirrored.evaluation import MirroredEvaluation
from modern.options import ModernOptions
from tests.cases import setup
from tests.marks import slow_after
from tests.workloads.training.test_evaluation import STATE, Measured, MeasuredNet
from workloads.data.evaluation import made_up_examples
from workloads.job import Job
from workloads.selection import registry
from workloads.training.evaluation import Evaluation, means_of
from workloads.training.first_values import first_values

EXACT = ModernOptions(exact=True)


def evaluations(workload, replicas, global_batch):
    job, devices = Job(workload, replicas, global_batch), [f"CPU:{i}" for i in range(replicas)]
    examples = made_up_examples(job)
    return Evaluation(job, examples, devices, exact=True), MirroredEvaluation(job, examples, devices, EXACT)


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_each_example_has_the_sessions_bits(replicas):
    made = setup(MeasuredNet(), replicas, 16)
    with made.modern_program() as port:
        state = port.state()
    session, mirrored = evaluations(MeasuredNet(), replicas, 16)
    first, second = session.measure(state), mirrored.measure(state)
    assert list(first) == list(second) == ["loss"] and len(first["loss"]) == 31
    np.testing.assert_array_equal(first["loss"], second["loss"])
    session.close()


BUILT_IN = [(name, replicas) for replicas in (4, 2, 1) for name in registry.NAMES]


@pytest.mark.parametrize("name, replicas", slow_after(len(registry.NAMES), BUILT_IN))
def test_each_built_in_workload_evaluates_with_the_sessions_bits(name, replicas):
    workload = registry.get(name, "small")
    state = initial_state_of(workload, replicas)
    session, mirrored = evaluations(workload, replicas, workload.global_batch)
    first, second = session.measure(state), mirrored.measure(state)
    session.close()
    assert list(first) == list(second) and first
    for metric, values in first.items():
        assert len(values) == 2 * workload.global_batch - 1  # no number of replicas but one divides the last batch
        np.testing.assert_array_equal(values, second[metric])


def initial_state_of(workload, replicas):
    values = first_values(Job(workload, replicas))
    return dataclasses.replace(STATE, weights=values.weights, statistics=values.statistics)


def test_what_fills_up_the_last_batch_is_not_counted_and_each_state_has_its_own():
    _, mirrored = evaluations(Measured(), 4, 4)
    assert mirrored.measure(STATE)["product"].tolist() == [2 * x for x in range(7)]
    other = dataclasses.replace(STATE, weights={"a": np.float32(3), "b": np.float32(2)})
    assert means_of(mirrored.measure(other)).means == {"product": 18.0, "small": 3 / 7}
