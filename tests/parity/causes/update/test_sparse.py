from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics.cause import HIGH, MEDIUM
from parity.causes.update import sparse
from tests.cases import Dyadic
from tests.parity.causes.stub_step import FAULTS, SubtractGradients, apply_rules, change_of, local_state, values_of
from tests.parity.causes.update_facts import evidence_of_updates, update, updates
from workloads import optimizers, scope, tracing
from workloads.frame import Frame
from workloads.job import Job
from workloads.numerics import combining


def recognized(right, left=None, wrong=("table",)):
    """The finding where the table has such parts of wrong (touched, untouched) rows, one pair a step."""
    lefts = left or [(0.0, 0.0)] * len(right)
    sides = [
        updates(*[update(step, rows={"table": parts}, wrong=names) for step, parts in enumerate(rows)])
        for rows, names in ((lefts, ()), (right, wrong))
    ]
    return sparse.sparse_duplicates(evidence_of_updates(*sides, optimizers.Adagrad()))


def test_rows_that_the_rule_explains_are_no_cause():
    assert recognized([(0.0, 0.0)], wrong=()) is None


def test_updates_without_partly_touched_weights_are_no_cause():
    assert sparse.sparse_duplicates(evidence_of_updates(updates(), updates())) is None
    assert sparse.sparse_duplicates(evidence_of_updates(None, updates())) is None


def test_rows_that_occur_twice_are_named():
    found = recognized([(0.5, 0.0), (0.0, 0.0)])
    assert found.confidence == HIGH
    assert found.sentence == (
        "Only rows of table that occur in the step's batch differ (25% of them): the gradients of a row that occurs "
        "more than once are applied one by one instead of being summed first."
    )


def test_all_touched_rows_may_have_another_cause():
    assert recognized([(1.0, 0.0)]).confidence == MEDIUM


def test_rows_that_momentum_moves_on_are_named():
    found = recognized([(0.0, 0.5)])
    assert found.confidence == HIGH
    assert found.sentence == (
        "Only rows of table without a gradient differ (50% of them): one side changes them by their momentum, the "
        "other leaves them as they are."
    )


def test_other_errors_are_not_confined_to_rows():
    assert recognized([(0.5, 0.5)]) is None
    assert recognized([(0.5, 0.0)], wrong=("table", "last/weights")) is None
    assert recognized([(0.5, 0.0)], left=[(0.25, 0.0)]) is None


def test_an_embedding_bag_averages_rows_of_its_table():
    workload = sparse.EmbeddingBag()
    specs = {spec.name: spec.shape for spec in tracing.trace(workload)}
    assert specs["table"] == (64, 5)
    assert {name: spec.shape for name, spec in workload.inputs().items()} == {"ids": (3,), "labels": ()}
    values = {"table": tf.constant(np.eye(64, 5, dtype=np.float32)), "last/weights": tf.zeros([5, 4])}

    class TableFrame(Frame):
        def variable(self, name, shape, initializer, trainable):
            return values.get(name, tf.zeros(shape))

    batch = {"ids": tf.constant([[0, 1, 1]]), "labels": tf.constant([2])}
    loss = workload.loss(scope.Scope(TableFrame("float32", 0, tf.constant(0, tf.int64), 0)), batch)
    assert loss.numpy() == pytest.approx(np.log(4))  # all four classes are equally likely


def test_squares_are_summed_over_the_occurrences_of_a_row():
    gradient = tf.IndexedSlices(tf.constant([[2.0], [4.0], [6.0]]), tf.constant([1, 1, 2]), tf.constant([4, 1]))
    squares = sparse.sum_squares(gradient, rows=4, replicas=2)
    assert squares.numpy().tolist() == [[0.0], [5.0], [9.0], [0.0]]  # 1 + 4, and 9


def squaring_step():
    (step_class,) = change_of("occurrences_squared_apart").steps
    return step_class(Job(sparse.EmbeddingBag(), 2, 8), None, None, SubtractGradients())


def test_a_fault_squares_each_occurrence_for_adagrad():
    step = squaring_step()
    local = local_state(
        weights={"table": [[8.0], [8.0]], "last": [8.0]}, slots={"table/accumulator": [[6.0], [0.0]], "last/m": 0.0}
    )

    def healthy_pass(self, local, number, replica, batch):
        slices = tf.IndexedSlices(tf.constant([[2.0], [4.0]]), tf.constant([0, 0]), tf.constant([2, 1]))
        made = combining.dense([slices, tf.constant([6.0])], [tf.zeros([2, 1]), tf.zeros([1])])
        return dict(zip(local.weights, made))

    own_dense = combining.dense
    with mock.patch.object(ReplicaStep, "_forward_backward", healthy_pass):
        gradients = step._forward_backward(local, 0, 0, {})
    assert combining.dense is own_dense
    assert gradients["table"].numpy().tolist() == [[6.0], [0.0]]
    assert values_of(step.squares) == {"table": [[5.0], [0.0]]}

    context = SimpleNamespace(all_reduce=lambda how, value: value + 4.0)  # the other replica's squares
    with mock.patch.object(ReplicaStep, "_combine", lambda self, context, gradients: gradients):
        combined = step._combine(context, gradients)
    step._rules.apply(local, combined, tf.constant(0.5))
    assert values_of(local.weights) == {"table": [[7.25], [8.0]], "last": [5.0]}  # 8 - 0.5 * 6 / sqrt(6 + 1 + 5 + 4)
    assert values_of(local.slots)["table/accumulator"] == [[16.0], [5.0]]


def test_a_fault_leaves_rows_without_a_gradient_alone():
    local = local_state(weights={"table": [[8.0], [8.0]]}, slots={"table/momentum": [[1.0], [1.0]]})

    class Moving(SubtractGradients):
        """Moves every row, as momentum does."""

        def apply(self, local, gradients, rate):
            super().apply(local, {"table": gradients["table"] + 2.0}, rate)

    (wrap,) = change_of("momentum_of_touched_rows_only").rules
    wrap(Moving()).apply(local, {"table": tf.constant([[0.0], [4.0]])}, 0.5)
    assert values_of(local.weights) == {"table": [[8.0], [5.0]]}
    assert values_of(local.slots) == {"table/momentum": [[1.0], [2.0]]}


def test_faults_of_embeddings_take_the_place_of_system_2():
    squared, touched = (FAULTS[n].adapt for n in ("occurrences_squared_apart", "momentum_of_touched_rows_only"))
    regression = Dyadic(name="regression")
    assert (squared(Dyadic()), touched(Dyadic())) == (None, None)
    assert squared(regression) == sparse.EmbeddingBag()
    assert touched(regression).optimizer == optimizers.Momentum()


def test_the_stand_in_rules_subtract_gradients():
    local = local_state(weights={"w": 8.0}, slots={"w/m": 1.0})
    apply_rules("update_applied_twice", local, {"w": 2.0}, 0.5)
    assert (values_of(local.weights), values_of(local.slots)) == ({"w": 6.0}, {"w/m": 2.0})


def test_a_weight_that_stops_is_no_matter_of_rows():
    """A dense weight with dead rows that is not trained from step 2 on: all rows with a gradient are wrong there."""
    steps = [update(0, rows={"w": (0.0, 0.0)}), update(2, rows={"w": (1.0, 0.0)}, wrong=("w",), still=["w"])]
    left = updates(update(0, rows={"w": (0.0, 0.0)}), update(2, rows={"w": (0.0, 0.0)}))
    assert sparse.sparse_duplicates(evidence_of_updates(left, updates(*steps), optimizers.Adam())) is None


def test_rows_that_are_all_wrong_in_some_steps_are_less_sure():
    assert recognized([(0.0, 0.0), (1.0, 0.0)]).confidence == MEDIUM
