"""Variables that count steps: constants that every step adds, and nothing else."""

import numpy as np
import pytest
import tensorflow as tf

from parity.against.counters import Counter, Counters, constant_increments, find_counters
from tests.small_lift import small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Effect, Variable
from workloads.support.errors import InputError


def counting(*added, shape=(), op="AssignAdd"):
    """A plan and a graph in which the constants `added` are added to `count`, behind an Identity."""
    plan = small_plan()
    plan.variables.append(Variable("count", list(shape), "int64", "statistic"))
    with tf.Graph().as_default() as graph:
        for number, value in enumerate(added):
            tf.identity(tf.constant(value, tf.float32), name=f"one{number}")
            plan.phases[0].effects.append(Effect(f"add{number}", op, ["count"], [f"one{number}:0"]))
    return plan, Graph(graph.as_graph_def())


def test_a_constant_that_every_step_adds_makes_a_counter():
    assert constant_increments(*counting(1)) == {"count": 1}
    assert constant_increments(*counting(1, 1)) == {"count": 2}


def test_other_changes_make_none():
    assert constant_increments(*counting(0.5)) == {}
    assert constant_increments(*counting(1, shape=(3,))) == {}
    assert constant_increments(*counting(1, op="AssignSub")) == {}
    assert constant_increments(*counting()) == {}


def test_the_first_step_is_what_was_counted():
    plan, graph = counting(2)
    assert find_counters(plan, graph, {"count": np.int64(14)}, 0) == Counters(7, (Counter("count", 2, 0),))
    with pytest.raises(InputError, match="'count' is 15 in the checkpoint, no multiple of the 2 of a step"):
        find_counters(plan, graph, {"count": np.int64(15)}, 0)


def test_without_counters_the_lifts_own_step_is_the_first():
    plan, graph = counting()
    assert find_counters(plan, graph, {}, 5) == Counters(5, ())


def test_a_counter_tells_its_value():
    assert [Counter("count", 2, 3).value(step) for step in (0, 5)] == [3, 13]
