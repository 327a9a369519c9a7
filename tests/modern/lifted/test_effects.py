"""Changes of variables by the resource twins of the old graph's ops."""

from __future__ import annotations

import pytest
import tensorflow as tf

from modern.lifted.effects import apply_effect, run_in_branch
from workloads.lifted.plan import Effect
from workloads.support.errors import InputError

v1 = tf.compat.v1


def applied(op, start, arguments, writes=("v",), attributes=None):
    """Values of the variables after one effect; `start` has one value for each of `writes`."""
    node = v1.NodeDef(name="node", op=op)
    for name, value in (attributes or {}).items():
        node.attr[name].b = value
    variables = {name: tf.Variable(value, dtype=tf.float32) for name, value in zip(writes, start)}
    apply_effect(Effect("node", op, list(writes), []), node, variables, [tf.constant(a, tf.float32) for a in arguments])
    return [variables[name].numpy().tolist() for name in writes]


@pytest.mark.parametrize(
    "op, expected",
    [("Assign", 3), ("AssignAdd", 5), ("AssignSub", -1), ("AssignVariableOp", 3), ("AssignSubVariableOp", -1)],
)
def test_assignments_of_either_era_are_done_on_the_resource(op, expected):
    assert applied(op, [2], [3]) == [expected]


@pytest.mark.parametrize("op", ["ApplyGradientDescent", "ResourceApplyGradientDescent"])
def test_update_rules_take_their_arguments_in_the_old_order(op):
    assert applied(op, [2], [0.25, 5]) == [0.75]


@pytest.mark.parametrize("nesterov, expected", [(False, [-1, 3]), (True, [-1.5, 3])])
def test_slots_and_attributes_of_the_node_are_used(nesterov, expected):
    # slot = 0.5 * 2 + 2 = 3; v = 2 - slot, or with Nesterov 2 - (gradient + 0.5 * slot) = 2 - 3.5.
    attributes = {"use_nesterov": nesterov, "use_locking": True}
    assert applied("ApplyMomentum", [2, 2], [1, 2, 0.5], ("v", "slot"), attributes) == expected


def test_an_op_without_a_twin_is_refused_by_name():
    with pytest.raises(
        InputError, match=r"lift: node \(SparseApplyOwn\) changes variables in a way that has no resource twin"
    ):
        applied("SparseApplyOwn", [2], [])


@pytest.mark.parametrize("predicate", [True, False])
@pytest.mark.parametrize("branch", [True, False])
def test_an_effect_runs_in_its_branch_only(predicate, branch):
    variable = tf.Variable(1.0)

    @tf.function(autograph=False)
    def step(value):
        run_in_branch(value, branch, lambda: tf.raw_ops.AssignVariableOp(resource=variable.handle, value=2.0))

    step(tf.constant(predicate))
    assert variable.numpy() == (2.0 if predicate == branch else 1.0)
