"""The part of a step after the exchange: effects, in groups that are computed together."""

from __future__ import annotations

import pytest
import tensorflow as tf

from modern.lifted.exchange import ExchangeAsWritten
from modern.lifted.function import StepValues
from modern.lifted.update import UpdateRunner
from tests.small_lift import SCALAR, small_graph, small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.plan import Condition, Effect, ReadVersion

v1 = tf.compat.v1


class CountingCutter(Cutter):
    """Counts the pieces that it cuts."""

    pieces = 0

    def piece(self, *arguments, **keywords):
        self.pieces += 1
        return super().piece(*arguments, **keywords)


def averaging_graph():
    """`small_graph` with an average of w, and a step counter."""
    graph_def = small_graph().graph_def
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        average = v1.get_variable("average", [], use_resource=False)
        steps = v1.get_variable("steps", [], use_resource=False)
        w = graph.get_tensor_by_name("w:0")
        half = tf.multiply(tf.subtract(average, w, name="apart"), 0.5, name="half")
        tf.raw_ops.AssignSub(ref=average._ref(), value=half, name="set_average")
        tf.raw_ops.AssignAdd(ref=steps._ref(), value=tf.constant(1.0, name="one"), name="count")
        v1.placeholder(tf.bool, [], name="finite")
    return Graph(graph.as_graph_def())


AVERAGE = Effect("set_average", "AssignSub", ["average"], ["half:0"])
COUNT = Effect("count", "AssignAdd", ["steps"], ["one:0"])


def runner_of(effects, versions=(), exchange=None):
    plan = small_plan()
    phase = plan.phases[0]
    phase.effects, phase.versions = effects, list(versions)
    phase.crossings.append(["finite:0", None])
    graph = averaging_graph()
    aliases = {f"{name}{end}": name for name in ("w", "average", "steps") for end in (":0", "/read:0")}
    types = {**plan.tensors, "finite:0": SCALAR._replace(dtype="bool")}
    cutter = CountingCutter(graph, aliases, dict.fromkeys(("w", "average", "steps"), SCALAR), types.__getitem__, {})
    return UpdateRunner(plan, phase, graph, cutter, exchange or ExchangeAsWritten(phase, 2)), cutter


def updated(runner, finite=True):
    """({variable: new value}, observed arguments) after an update from w = 2, average = 4 and gradients 3 and 7."""
    variables = {"w": tf.Variable(2.0), "average": tf.Variable(4.0), "steps": tf.Variable(0.0)}

    @tf.function(autograph=False)
    def step():
        values = StepValues(0, 0, tf.constant(0, tf.int64), {}, variables)
        values.crossings = {"g0:0": tf.constant(3.0), "g1:0": tf.constant(7.0), "finite:0": tf.constant(finite)}
        return tuple(runner.run(runner.groups(0), values))

    combined, rates = step()
    state = {name: float(variable) for name, variable in variables.items()}
    return state, {name: float(value) for name, value in combined.items()}, [float(rate) for rate in rates]


def small_update():
    return small_plan().phases[0].effects[0]


def test_effects_change_variables_and_show_gradient_and_learning_rate_once():
    runner, _ = runner_of([small_update(), COUNT])
    assert updated(runner) == ({"w": 0.75, "average": 4.0, "steps": 1.0}, {"w": 5.0}, [0.25])


def test_effects_that_read_nothing_changed_are_cut_as_one_piece():
    runner, cutter = runner_of([small_update(), COUNT, AVERAGE])
    (group,) = runner.groups(0)
    assert [effect.node for effect in group.effects] == ["update", "count", "set_average"] and cutter.pieces == 1
    assert runner.groups(1)[0] is group and cutter.pieces == 1  # the same for all towers
    assert updated(runner)[0] == {"w": 0.75, "average": 3.0, "steps": 1.0}  # 4 - (4 - 2) / 2: w as it was before


def test_an_effect_that_reads_what_another_changed_comes_in_a_later_group():
    runner, cutter = runner_of([small_update(), COUNT, AVERAGE], [ReadVersion("apart", "w", 1)])
    groups = runner.groups(0)
    assert [[effect.node for effect in group.effects] for group in groups] == [["update", "count"], ["set_average"]]
    assert cutter.pieces == 1 + 3 + 1  # all together, each alone, and the group of two
    assert updated(runner)[0] == {"w": 0.75, "average": 2.375, "steps": 1.0}  # 4 - (4 - 0.75) / 2


@pytest.mark.parametrize("finite", [True, False])
def test_an_effect_in_a_branch_runs_if_the_branch_is_taken(finite):
    update = small_update()
    update.condition = Condition("finite:0", True)
    runner, _ = runner_of([update, COUNT])
    assert [len(group.effects) for group in runner.groups(0)] == [1, 1]
    state = updated(runner, finite)[0]
    assert state == {"w": 0.75 if finite else 2.0, "average": 4.0, "steps": 1.0}


@pytest.mark.parametrize("finite", [True, False])
def test_an_effect_in_nested_branches_runs_if_all_are_taken(finite):
    for outer in (True, False):
        update = small_update()
        update.condition, update.around = Condition("finite:0", True), [Condition("finite:0", outer)]
        state = updated(runner_of([update])[0], finite)[0]
        assert state["w"] == (0.75 if finite and outer else 2.0)


def test_what_the_exchange_leaves_out_is_not_run():
    class WithoutCount(ExchangeAsWritten):
        def skips(self, effect, tower):
            return effect.node == "count"

    runner, _ = runner_of([COUNT], exchange=WithoutCount(small_plan().phases[0], 2))
    assert runner.groups(0) == [] and updated(runner)[0]["steps"] == 0.0
