"""Order of the old graph's races: averages read the new weights, where the graph allows it."""

import tensorflow as tf

from parity.against.port_order import port_order
from tests.small_lift import small_plan
from workloads.lifted.graph import Graph
from workloads.lifted.plan import ControlDependency, Effect, Variable


def averaged(ordered=False):
    """A plan whose average reads the weight by `read`; `ordered` makes the graph itself read before the update."""
    plan = small_plan()
    plan.variables.append(Variable("a", [], "float32", "average", "w"))
    with tf.Graph().as_default() as graph:
        read = tf.constant(1.0, name="read")
        with tf.control_dependencies([read] if ordered else []):
            update = tf.no_op(name="update")
        change = tf.identity(read, name="change")
        tf.group(update, change, name="train")
    phase = plan.phases[0]
    phase.train_op = "train"
    phase.effects = [Effect("update", "ApplyGradientDescent", ["w"], []), Effect("change", "AssignSub", ["a"], [])]
    phase.control_dependencies = [ControlDependency("read", "update")]
    return plan, Graph(graph.as_graph_def())


def test_an_average_that_races_with_the_update_comes_after_it():
    assert port_order(*averaged()) == [[ControlDependency("update", "read")]]


def test_an_order_of_the_graph_itself_stays():
    assert port_order(*averaged(ordered=True)) == [[ControlDependency("read", "update")]]


def test_a_read_that_feeds_more_than_averages_stays_before():
    plan, graph = averaged()
    plan.variables[-1].role = "statistic"
    assert port_order(plan, graph) == [[ControlDependency("read", "update")]]
