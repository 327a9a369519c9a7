"""A lifted program as a workload."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from tests.small_lift import small_lift
from workloads.lifted.plan import Noise, Variable
from workloads.lifted.workload import STEP, as_lifted, load_lift, op_errors_as_input_errors
from workloads.models import regression
from workloads.program import State
from workloads.support.errors import InputError


def test_a_lift_says_that_it_is_one(tmp_path):
    workload = small_lift(str(tmp_path / "lift"))
    assert workload.is_lifted and as_lifted(workload) is workload
    assert not regression.SMALL.is_lifted


@pytest.mark.parametrize(
    "kind, variables, expected",
    [
        ("batch", [], True),
        ("setting", [], False),
        ("setting", [Variable("total", [], "float32", "statistic")], False),  # such as a learning rate
        ("setting", [Variable("total", [8, 2], "float32", "statistic")], True),
        ("setting", [Variable("total", [8, 2], "float32", "slot")], False),
    ],
)
def test_examples_enter_by_an_input_or_are_held_by_a_variable(kind, variables, expected, tmp_path):
    def change(plan):
        plan.inputs = [dataclasses.replace(entry, kind=kind) for entry in plan.inputs]
        plan.variables += variables

    assert small_lift(str(tmp_path / "lift"), change).has_examples is expected


def test_sizes_are_those_that_the_graph_takes(tmp_path):
    workload = small_lift(str(tmp_path / "fixed"))
    assert (workload.global_batch, workload.default_global_batch(3)) == (4, 6)
    workload.check_size(3, 2)
    with pytest.raises(InputError, match="--global_batch: got 8, this graph takes 2 a replica, so 4"):
        workload.check_size(2, 4)
    any_size = small_lift(str(tmp_path / "any"), lambda plan: setattr(plan, "batch", None))
    any_size.check_size(2, 5)
    assert any_size.default_global_batch(3) == 24


def test_describes_itself_by_its_digest_and_its_ops(tmp_path):
    workload = small_lift(str(tmp_path / "lift"))
    assert workload.describe() == {"name": "small", "graph": workload.digest, "towers": "2"}
    assert workload.update_rules() == "ApplyGradientDescent"
    assert list(workload.inputs()) == ["x"]
    (spec,) = workload.variables()
    assert (spec.name, spec.shape, spec.dtype, spec.trainable) == ("w", (), "float32", True)


def test_each_role_goes_to_its_part_of_the_state(tmp_path):
    nodes = {"slot": "total", "average": "mean", "statistic": "g0", "state": "g1"}  # any nodes of the graph

    def change(plan):
        plan.variables += [Variable(node, [], "float32", role) for role, node in nodes.items()]

    workload = small_lift(str(tmp_path / "lift"), change)
    state = workload.state(7, {name: np.float64(1) for name in ("w", *nodes.values())})
    assert (state.step, list(state.weights), list(state.slots), list(state.averages)) == (
        7,
        ["w"],
        ["total"],
        ["mean"],
    )
    assert list(state.statistics) == ["g0", "g1"] and state.weights["w"].dtype == np.float32


def test_a_saved_state_is_the_start_of_the_next_run(tmp_path):
    workload = small_lift(str(tmp_path / "lift"))
    assert workload.initial_state().step == 0 and workload.initial_state().weights["w"] == 2
    workload.save(str(tmp_path / "saved"), State(5, {"w": np.float32(0.75)}, {}, {}, {}))
    again = load_lift(str(tmp_path / "saved"))
    assert again.initial_state().step == 5 and again.initial_state().weights["w"] == 0.75
    assert again.digest == workload.digest and again.values()[STEP] == 5


def test_what_a_cutter_is_told_of_random_nodes_overrides_the_plan(tmp_path):
    workload = small_lift(str(tmp_path / "lift"))
    workload.plan.noise.append(Noise("g0", "RandomUniform", "seeded", ["g0", "g1"]))
    keyed = workload.cutter({"g1": "drawn"}).piece(["mean:0"], ["x0:0"])
    assert [(feed.kind, feed.key) for feed in keyed.feeds] == [("drawn", "g1:0"), ("cut", "x0:0")]


def test_an_error_of_an_op_becomes_one_line():
    message = "2 root error(s) found.\n  (0) INVALID_ARGUMENT: indices\n  rows[3] = 9 is not in [0, 4)\n"
    expected = r"^--workload: the port does not run here .*: indices rows\[3\] = 9 is not"
    with pytest.raises(InputError, match=expected), op_errors_as_input_errors("the port"):
        raise tf.errors.InvalidArgumentError(None, None, message)
    with pytest.raises(InputError, match="these data: $"), op_errors_as_input_errors("the port"):
        raise tf.errors.AbortedError(None, None, "")
    hint = "multiple of 64; where made-up inputs .*, lift with --data"
    with pytest.raises(InputError, match=hint), op_errors_as_input_errors("the port"):
        raise tf.errors.InvalidArgumentError(None, None, "Input to reshape has 48 values, not a multiple of 64")
    with pytest.raises(ZeroDivisionError), op_errors_as_input_errors("the port"):
        raise ZeroDivisionError
