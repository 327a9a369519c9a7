"""A session that checks repeated runs once: the same values and errors as `Session.run`, with and without the check."""

import contextlib

import numpy as np
import pytest
import tensorflow as tf

from legacy.towers.prepared_session import PreparedSession

v1 = tf.compat.v1


@contextlib.contextmanager
def session(make=PreparedSession):
    """A session of `total += x * factor`."""
    with tf.Graph().as_default() as graph:
        x, factor = v1.placeholder(tf.float32, [2], "x"), tf.constant(2.0, name="factor")
        product = tf.multiply(x, factor, name="product")
        total = v1.get_variable("total", initializer=tf.zeros(2), use_resource=False)
        v1.assign_add(total, tf.debugging.check_numerics(product, "not finite"), name="add")
        with make(graph=graph) as made:
            made.run(v1.global_variables_initializer())
            yield made


def fetches(graph):
    add, total = graph.get_operation_by_name("add"), graph.get_tensor_by_name("total:0")
    return [add, {"b": "product:0", "a": [total, graph.get_tensor_by_name("factor:0")]}, "product:0"]


FEEDS = [{"x:0": [1, 2], "factor:0": 3.0}, {"x:0": np.float64([3, 4]), "factor:0": np.float32(0.5)}] * 2


def test_repeated_runs_give_what_runs_of_tensorflow_do(monkeypatch):
    checked, run = [], v1.Session.run
    monkeypatch.setattr(v1.Session, "run", lambda self, *args: checked.append(type(self)) or run(self, *args))
    found = []
    for make in (v1.Session, PreparedSession):
        with session(make) as made:
            found.append([made.run(fetches(made.graph), feed) for feed in FEEDS])
            found[-1].append(made.run("total:0"))
    plain, prepared = ([[np.asarray(v).tolist() for v in tf.nest.flatten(run)] for run in runs] for runs in found)
    assert prepared == plain and plain[-1] == [[9.0, 16.0]]
    assert all(type(run[1]) is dict and run[0] is None for run in found[1][:-1])
    assert checked.count(PreparedSession) == 3  # of the initializer, of the steps, and of the sum


def test_a_fed_tensor_that_is_fetched_has_the_fed_value():
    with session() as made:
        for value in (1.0, 7.0):
            assert made.run(["factor:0", "product:0"], {"x:0": [1, 1], "factor:0": value})[0] == value


def test_a_run_of_fed_tensors_alone_computes_nothing():
    with session() as made:
        assert [made.run(["factor:0"], {"factor:0": value}) for value in (3.0, 7.0)] == [[3.0], [7.0]]
        assert [made.run([], {}) for _ in range(2)] == [[], []]


def test_other_fed_tensors_are_another_run():
    with session() as made:
        for _ in range(2):
            assert made.run("product:0", {"x:0": [1, 2], "factor:0": 3.0}).tolist() == [3.0, 6.0]
            assert made.run("product:0", {"x:0": [1, 2]}).tolist() == [2.0, 4.0]


def test_an_error_names_its_op_in_a_repeated_run():
    with session() as made:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="not finite") as error:
                made.run("add", {"x:0": [np.inf, 1]})
            assert error.value.op is not None and error.value.op.type == "CheckNumerics"


def test_a_first_run_is_checked():
    with session() as made, pytest.raises(ValueError, match="shape"):
        made.run("product:0", {"x:0": [1, 2, 3]})
