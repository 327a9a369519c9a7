"""Runs of a program: its train op, with settings that were fed made constants."""

import pytest
import tensorflow as tf

from legacy.saved.runs.step_run import find_step_run
from tests.legacy.saved.graphs import saved, traced
from workloads.support.errors import InputError

v1 = tf.compat.v1


def program():
    """A program with a fed learning rate."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        rate = v1.placeholder(tf.float32, [], "rate")
        loss = tf.reduce_sum(v1.placeholder(tf.float32, [4, 2], "x") * w)
        v1.train.GradientDescentOptimizer(rate).minimize(loss, name="train")

    return saved(traced(build), trainable_variables=["w"])


def test_the_only_train_op_is_found_and_a_fed_setting_is_a_constant():
    run = find_step_run(program(), [], {"rate": "0.5"}, [])
    assert run.targets == ["train"] and run.trainable == ["w"]
    assert list(run.settings) == ["rate"] and run.whole.type("rate") == "Const"


def test_without_a_value_a_setting_stays_open():
    run = find_step_run(program(), [], {}, [])
    assert not run.settings and run.whole.type("rate") == "Placeholder"


def test_a_train_op_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="other"):
        find_step_run(program(), ["other"], {}, [])
