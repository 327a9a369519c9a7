"""Variables that a port can do without: constants of the graph, and scalars that only report."""

import pytest
import tensorflow as tf

from parity.against.spare_variables import spare_variables
from tests.small_lift import small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.plan import Effect, Variable

v1 = tf.compat.v1


def graph_with(build):
    """A graph of reference variables `rate` and `shown`, and what `build` makes of them."""
    with tf.Graph().as_default() as graph:
        made = {name: v1.get_variable(name, [], use_resource=False) for name in ("rate", "shown")}
        build(made)
    return Graph(graph.as_graph_def())


def plan_with(*variables, effects=()):
    plan = small_plan()
    plan.variables += [Variable(name, shape, "float32", "statistic") for name, shape in variables]
    plan.phases[0].effects += [Effect(node, "Assign", [name], []) for node, name in effects]
    return plan


def shown_only(made):
    tf.raw_ops.Assign(ref=made["shown"], value=made["shown"] * 0.5, name="keep")


def feeds_update(made):
    shown_only(made)
    tf.multiply(made["shown"], 2.0, name="update")


def feeds_loss(made):
    shown_only(made)
    tf.multiply(made["shown"], 2.0, name="loss0")


def test_a_variable_that_no_step_changes_is_spare():
    assert spare_variables(plan_with(("rate", []), ("rows", [3])), graph_with(shown_only)) == ["rate", "rows"]


def test_what_an_optimizer_reads_and_no_step_changes_is_spare_and_a_slot_of_a_weight_is_not():
    plan = small_plan()
    plan.variables += [Variable("rate", [], "float32", "slot"), Variable("w/m", [2], "float32", "slot", "w")]
    assert spare_variables(plan, graph_with(shown_only)) == ["rate"]
    plan.phases[0].effects.append(Effect("keep", "Assign", ["rate"], []))
    assert spare_variables(plan, graph_with(shown_only)) == []


@pytest.mark.parametrize("build, spare", [(shown_only, ["shown"]), (feeds_update, []), (feeds_loss, [])])
def test_a_scalar_is_spare_if_nothing_else_follows_from_it(build, spare):
    assert spare_variables(plan_with(("shown", []), effects=[("keep", "shown")]), graph_with(build)) == spare


def test_statistics_of_channels_are_needed():
    assert spare_variables(plan_with(("shown", [4]), effects=[("keep", "shown")]), graph_with(shown_only)) == []


def test_scalars_that_only_feed_scalars_are_spare_together():
    def build(made):
        shown_only(made)
        tf.raw_ops.Assign(ref=made["rate"], value=made["shown"] * 1.0, name="copy")

    plan = plan_with(("rate", []), ("shown", []), effects=[("keep", "shown"), ("copy", "rate")])
    assert spare_variables(plan, graph_with(build)) == ["rate", "shown"]
