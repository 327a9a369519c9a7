"""A workload with a step of its own: what is refused, and what its scope gives."""

import dataclasses

import pytest
import tensorflow as tf

from tests.small_steps import Weighed
from workloads.job import Job
from workloads.steps.workload import StepScope, as_steps
from workloads.support.errors import InputError


def test_its_fields_are_not_those_of_a_named_update():
    workload = Weighed()
    assert as_steps(workload).has_own_step and not workload.is_lifted
    assert workload.describe() == {"name": "weighed", "train ops": "weigh, decay", "replicas": "any number"}


def test_a_step_for_one_number_of_replicas_refuses_others():
    only = dataclasses.replace(Weighed(), replicas=2)
    assert Job(only, 2).per_replica_batch == 2
    with pytest.raises(InputError, match="--replicas: got 1, weighed is for 2 only"):
        Job(only, 1)


def test_no_train_op_is_refused():
    class Empty(Weighed):
        def train_ops(self):
            return []

    with pytest.raises(InputError, match=r"weighed.train_ops\(\).*must be a list of functions"):
        Job(Empty())


def test_a_scope_differentiates_by_names_and_remembers():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        values = {"w": tf.constant([1.0, 2.0]), "unused": tf.constant(3.0)}
        scope = StepScope(None, values)
        found = scope.gradients(tf.reduce_sum(values["w"] ** 2), ["w", "unused"], tf.constant(0.5))
        assert [value.tolist() for value in session.run(found)] == [[1.0, 2.0], 0.0]
        assert list(scope.gradients_found) == ["w", "unused"]


def test_updates_are_kept_as_they_are_given():
    scope = StepScope(None, {})
    scope.update("mean", abs)
    assert scope.updates == {"mean": abs}


def test_a_scope_that_is_traced_alone_has_its_own_rows_of_what_all_have():
    assert StepScope(None, {}).of_all(tf.constant([3, 1])).numpy().tolist() == [3, 1]
