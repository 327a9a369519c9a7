"""A tower's loss by a written function: its results stand where the old graph's stood."""

import pytest
import tensorflow as tf

from modern.lifted.function import StepValues
from modern.lifted.written import WrittenFrame, WrittenTower, raw_gradients
from tests.small_lift import small_plan
from workloads.lifted.pieces.noise import noise_input
from workloads.lifted.plan import Effect
from workloads.scope import Scope
from workloads.support.errors import InputError

v1 = tf.compat.v1
X = {"x": [1.0, 2.0]}


def values_of(batch, **variables):
    made = {name: v1.Variable(value, use_resource=True) for name, value in variables.items()}
    return StepValues(3, 1, tf.constant(5, tf.int64), {n: tf.constant(v) for n, v in batch.items()}, made)


def ran(loss, phase, batch=None, **variables):
    """{tensor of the old graph: value} of the first tower with a written loss."""
    with tf.Graph().as_default(), v1.Session() as session:
        found = WrittenTower(phase, loss, "float32", False)(0, values_of(batch or X, **variables))
        session.run(v1.global_variables_initializer())
        return session.run(found)


def weighted_sum(scope, batch):
    return scope.get("w", ()) * tf.reduce_sum(batch["x"])


def test_loss_and_gradient_go_where_the_old_ones_were():
    found = ran(weighted_sum, small_plan().phases[0], w=2.0)
    assert {name: float(value) for name, value in found.items()} == {"loss0:0": 6.0, "g0:0": 3.0}


def test_the_next_value_of_a_state_is_what_its_assignment_takes():
    phase = small_plan().phases[0]
    phase.effects.append(Effect("set", "Assign", ["state"], ["next:0"]))

    def loss(scope, batch):
        scope.update("state", scope.get("state", (), trainable=False) + 1.0)
        return weighted_sum(scope, batch)

    assert float(ran(loss, phase, w=2.0, state=4.0)["next:0"]) == 5.0


@pytest.mark.parametrize(
    "raw",
    [
        {"table": "values:0", "table (indices)": "indices:0"},
        {"sum": "values:0", "sum (indices)": "indices:0", "table": "values:0"},  # added up before the update takes them
    ],
)
def test_rows_of_a_sparse_gradient_stay_rows(raw):
    phase = small_plan().phases[0]
    phase.raw = [raw] * 2

    def loss(scope, batch):
        return tf.reduce_sum(tf.gather(scope.get("table", (3, 2)), batch["rows"]) * 4.0)

    found = ran(loss, phase, batch={"rows": [2, 0]}, table=[[0.0, 0.0]] * 3)
    assert found["indices:0"].tolist() == [2, 0] and found["values:0"].tolist() == [[4.0, 4.0]] * 2


def test_gradients_are_named_one_by_one_or_else_as_they_are_combined():
    phase = small_plan().phases[0]
    phase.raw = [{}, {}]
    assert raw_gradients(phase, 1) == phase.gradients[1]


def test_random_numbers_are_those_of_the_batch_or_of_the_stream():
    given = values_of({noise_input("drop", 0): [0.5, 0.25]})
    assert Scope(WrittenFrame(given, "float32", True)).uniform("drop", [2]).numpy().tolist() == [0.5, 0.25]
    drawn = Scope(WrittenFrame(given, "float32", False)).uniform("drop", [2])
    key = given.key("drop", common=False)
    expected = tf.raw_ops.StatelessRandomUniform(shape=[2], seed=key, dtype=tf.float32)
    assert drawn.numpy().tolist() == expected.numpy().tolist()


def test_drawn_classes_are_those_of_the_batch_or_of_the_stream():
    given, logits = values_of({noise_input("class", 0): [[2, 0]]}), [[0.0, 1.0, 2.0]]
    assert WrittenFrame(given, "float32", True).categorical("class", logits, 2).numpy().tolist() == [[2, 0]]
    drawn = WrittenFrame(given, "float32", False).categorical("class", logits, 8)
    expected = tf.random.stateless_categorical(logits, 8, given.key("class", common=False))
    assert drawn.numpy().tolist() == expected.numpy().tolist()


def test_what_cannot_be_run_is_refused():
    phase = small_plan().phases[0]
    with pytest.raises(InputError, match="scope.get: got 'v', must be a variable of the lift"):
        WrittenFrame(values_of(X), "float32", False).variable("v", (), None, True)
    phase.losses = []
    with pytest.raises(InputError, match="the graph does not tell what is minimized"):
        WrittenTower(phase, weighted_sum, "float32", False)
