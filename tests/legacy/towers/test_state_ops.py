"""A whole state in a tower graph of a few variables."""

import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.towers.state_ops import build_state_loader, state_feed, variables_by_kind
from workloads.program import State

v1 = tf.compat.v1


@pytest.fixture
def towers():
    """Tower graph with a variable of each kind, in the current graph."""
    with tf.Graph().as_default():

        def variable(name, trainable=False):
            return v1.get_variable(name, initializer=tf.zeros([2]), trainable=trainable, use_resource=True)

        weight = variable("w", trainable=True)
        yield types.SimpleNamespace(
            variables={"w": weight, "moving": variable("moving")},
            slots={"w/momentum": variable("slot")},
            averages={"w": variable("average")},
            global_step=v1.get_variable("step", initializer=np.int64(0), trainable=False, use_resource=True),
        )


def test_variables_are_distinguished_by_kind(towers):
    names = {kind: list(variables) for kind, variables in variables_by_kind(towers).items()}
    assert names == {"weights": ["w"], "slots": ["w/momentum"], "statistics": ["moving"], "averages": ["w"]}


def test_a_state_that_is_loaded_is_read_back(towers):
    arrays = [{name: np.float32([n, -n])} for n, name in enumerate(["w", "w/momentum", "moving", "w"], 1)]
    state = State(7, *arrays)
    holders, load = build_state_loader(towers)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run(towers.variables["w"]).tolist() == [0.0, 0.0]
        session.run(load, state_feed(holders, state, 28))
        step, values = session.run([towers.global_step, variables_by_kind(towers)])
    assert step == 28
    assert {kind: {n: v.tolist() for n, v in each.items()} for kind, each in values.items()} == {
        "weights": {"w": [1.0, -1.0]},
        "slots": {"w/momentum": [2.0, -2.0]},
        "statistics": {"moving": [3.0, -3.0]},
        "averages": {"w": [4.0, -4.0]},
    }
