"""Evaluation: means over all examples, whatever batches, devices and sides; hand-computed where exact."""

import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow as tf

from tests.cases import Dyadic, Everything, setup
from workloads import layers
from workloads.data.function import FunctionData
from workloads.data.own_data import request_of
from workloads.job import Job
from workloads.program import State
from workloads.support.errors import InputError, UserError
from workloads.training.evaluation import Evaluation


@dataclasses.dataclass(frozen=True)
class Measured(Dyadic):
    """Metrics of the examples x = 0, 1, 2, ...: x * a * b with a = 1 and b = 2, and whether x is below 3."""

    def metrics(self, scope, batch):
        a, b = scope.get("a", ()), scope.get("b", ())
        return {"product": batch["x"] * a * b, "small": batch["x"] < 3}


def evaluation(workload, made, replicas=2, global_batch=4, dtype="float32", devices=None):
    job = Job(workload, replicas, global_batch, dtype)
    request = request_of(job, shuffle=False)
    order = dataclasses.replace(request.order, may_repeat=True)
    batches = FunctionData("mine", lambda size: made).batches(request._replace(order=order))
    return Evaluation(job, batches, devices or [f"CPU:{i}" for i in range(replicas)])


STATE = State(0, {"a": np.float32(1), "b": np.float32(2)}, {}, {}, {})


@pytest.mark.parametrize("count", [1, 3, 4, 8, 10])
@pytest.mark.parametrize("replicas", [1, 2, 4])
@pytest.mark.parametrize("as_stream", [False, True])
def test_means_are_over_all_examples_and_no_others(count, replicas, as_stream):
    numbers = np.arange(count, dtype=np.float32)
    made = [{"x": number} for number in numbers] if as_stream else {"x": numbers}
    if as_stream:
        made = _Again(made)
    found = evaluation(Measured(), made, replicas)
    for _ in range(2):
        result = found.evaluate(STATE)
        assert result.examples == count
        assert result.means == {"product": 2 * numbers.mean(), "small": min(count, 3) / count}
    found.close()


class _Again:
    """An iterable that is no list."""

    def __init__(self, elements):
        self._elements = elements

    def __iter__(self):
        return iter(self._elements)


def test_each_state_has_its_own():
    found = evaluation(Measured(), {"x": np.arange(4)})
    other = dataclasses.replace(STATE, weights={"a": np.float32(3), "b": np.float32(2)})
    assert found.evaluate(STATE).means["product"] == 3 and found.evaluate(other).means["product"] == 9


def test_devices_that_do_not_divide_the_batch_leave_it_to_the_first():
    found = evaluation(Measured(), {"x": np.arange(10)}, 2, 4, devices=["CPU:0", "CPU:1", "CPU:2"])
    assert found.evaluate(STATE).means["product"] == 9


@dataclasses.dataclass(frozen=True)
class MeasuredNet(Everything):
    """`Everything` with the cross-entropy of each example."""

    def metrics(self, scope, batch):
        x = layers.batch_norm(scope.child("norm"), tf.matmul(batch["x"], scope.child("first").get("weights", (6, 5))))
        x = layers.dropout(scope, tf.nn.relu(x), self.dropout_rate)
        logits = layers.dense(scope.child("last"), x, 3)
        return {"loss": tf.nn.sparse_softmax_cross_entropy_with_logits(labels=batch["labels"], logits=logits)}


@pytest.mark.parametrize("replicas", [1, 2, 4])
def test_both_sides_have_the_same_bits(replicas):
    made = setup(MeasuredNet(), replicas, 16)
    with made.legacy_program() as towers, made.modern_program() as port:
        states = [(program.run(3), program.state())[1] for program in (towers, port)]
    examples = MeasuredNet().examples(np.random.RandomState(0), 39)  # no number of replicas divides them
    found = evaluation(MeasuredNet(), examples, replicas, 16)
    results = [found.evaluate(state) for state in states]
    assert results[0] == results[1] and results[0].examples == 39
    whole = evaluation(MeasuredNet(), examples, 1, 39).evaluate(states[0])
    assert results[0].means["loss"] == pytest.approx(whole.means["loss"], rel=1e-6)


def test_statistics_are_used_and_nothing_is_dropped():
    made = setup(MeasuredNet(), 2, 16)
    with made.modern_program() as program:
        state = program.state()
    examples = MeasuredNet().examples(np.random.RandomState(0), 5)
    found = evaluation(MeasuredNet(), examples, 2, 16).evaluate(state).means["loss"]
    x = np.maximum(np.float32(examples["x"]) @ state.weights["first/weights"] / np.sqrt(1 + 1e-5), 0)
    logits = x @ state.weights["last/weights"] + state.weights["last/biases"]
    likelihood = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    assert found == pytest.approx(-np.log(likelihood[np.arange(5), examples["labels"]]).mean(), rel=1e-5)


def broken(function):
    return dataclasses.make_dataclass("Broken", [], bases=(Measured,), namespace={"metrics": function}, frozen=True)()


def failing(self, scope, batch):
    raise KeyError("logits")


@pytest.mark.parametrize(
    "function, error, says",
    [
        (failing, UserError, r"test_evaluation.py:\d+: dyadic.metrics raised KeyError: 'logits'; expected: {metric: a"),
        (lambda self, scope, batch: {}, InputError, "got {}, must be {metric: a number for each example"),
        (lambda self, scope, batch: {"x": 1.0}, InputError, r"got 1.0, 'x' must be a number for each example, \[2\]"),
        (lambda self, scope, batch: {"x": tf.reduce_mean(batch["x"])}, InputError, r"got 'float32 \(\)', 'x' must be"),
        (lambda self, scope, batch: {"x": batch["x"] * scope.get("c", ())}, InputError, "'c' is asked for by the metr"),
    ],
)
def test_metrics_that_cannot_be_used_are_refused(function, error, says):
    with pytest.raises(error, match=says):
        evaluation(broken(function), {"x": np.arange(4)}).evaluate(STATE)


def test_data_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match="got 'y', it must have 'x'"):
        evaluation(Measured(), {"y": np.arange(4)}).evaluate(STATE)
    with pytest.raises(InputError, match="got 'no example'"):
        evaluation(Measured(), _Again([])).evaluate(STATE)


def test_endless_data_are_refused(monkeypatch):
    monkeypatch.setattr("workloads.training.evaluation.MOST_EXAMPLES", 100)
    endless = _Again({"x": np.float32(number)} for number in itertools.count())
    with pytest.raises(InputError, match="--eval_data: got 'over 100 examples', they must end"):
        evaluation(Measured(), endless).evaluate(STATE)
