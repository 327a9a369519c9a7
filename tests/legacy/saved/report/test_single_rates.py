"""Learning rates that single nodes tell, where a graph cannot be analysed."""

import pytest
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.report import single_rates
from legacy.saved.report.single_rates import rate_rows
from tests.legacy.saved.graphs import saved, traced
from tests.legacy.saved.report.single_graphs import descent, whole_of

v1 = tf.compat.v1


def counter():
    return v1.get_variable("step", [], tf.int64, v1.zeros_initializer(), trainable=False, use_resource=False)


def described(rate, added=1):
    """The only learning rate of a program: its description, and its values by step."""

    def beside(_):
        return [v1.assign_add(counter(), added)] if added else []

    (row,) = rate_rows(whole_of(descent(rate), beside=beside))
    assert row["variables"] == "1"
    return row["is"], row["values"]


def decayed():
    return 0.5 * tf.pow(0.1, tf.floor(tf.cast(counter(), tf.float32) / 2000.0))


def test_a_constant_rate():
    assert described(lambda: 0.5) == ("0.5, always", "-")


@pytest.mark.parametrize("default, text", [(None, "fed at every step"), (0.25, "0.25, unless rate is fed")])
def test_a_rate_that_is_fed(default, text):
    def rate():
        if default is None:
            return v1.placeholder(tf.float32, [], "rate")
        return v1.placeholder_with_default(tf.constant(default), [], "rate")

    assert described(rate) == (text, "-")


def test_a_schedule_is_evaluated_where_its_counter_counts_steps():
    text, values = described(decayed)
    assert text.startswith("a function of step, by ") and "constants" in text and "2000" in text
    assert values.startswith("0: 0.5, ") and "2000: 0.05" in values
    assert described(decayed, added=8)[1] == "-"
    assert described(decayed, added=0)[1] == "-"


def test_a_schedule_that_rounds_by_a_cast_is_not_evaluated():
    def rate():
        return 0.5 / tf.cast(1 + tf.cast(tf.cast(counter(), tf.float32) / 7.0, tf.int32), tf.float32)

    assert described(rate)[1] == "-"


def test_a_schedule_that_reads_the_counter_behind_its_change_is_not_evaluated():
    def rate():
        with tf.control_dependencies([v1.assign_add(counter(), 1)]):
            return 0.5 / (1.0 + tf.cast(tf.identity(counter()), tf.float32))

    assert described(rate, added=0)[1] == "-"


def test_the_value_of_a_variable_and_an_update_by_hand():
    held = v1.constant_initializer(0.5)
    name = lambda: v1.get_variable("rate", [], initializer=held, trainable=False, use_resource=False)  # noqa: E731
    assert described(lambda: tf.identity(name())) == ("the value of rate", "-")
    by_hand = rate_rows(whole_of(lambda pairs: v1.assign_sub(pairs[0][1], 0.5 * pairs[0][0])))
    assert [row["is"] for row in by_hand] == ["not known: the update is written by hand"]


def test_a_rate_of_many_updates_is_described_once(monkeypatch):
    """Its description passes what the rate is computed from, and all nodes of the graph."""

    def build(rates):
        weights = [v1.get_variable(f"w{number}", [], use_resource=False) for number in range(3)]
        for rate in rates:
            optimizer = v1.train.GradientDescentOptimizer(rate)
            optimizer.apply_gradients([(2.0 * weight, weight) for weight in weights])

    described_rates, describe = [], single_rates._described
    monkeypatch.setattr(
        single_rates, "_described", lambda whole, rate: described_rates.append(rate) or describe(whole, rate)
    )
    whole = WholeGraph(saved(traced(lambda: build([0.5, 0.25])), trainable_variables=["w0", "w1", "w2"]))
    rows = [(row["is"], row["variables"]) for row in rate_rows(whole)]
    assert rows == [("0.5, always", "3"), ("0.25, always", "3")] and len(described_rates) == 2
