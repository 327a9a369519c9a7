"""Plans in float64: readers and waiters of a node that became a formula, and dtypes."""

from tests.small_lift import small_plan
from workloads.lifted.double.graph_rewriter import Rewritten
from workloads.lifted.double.plan import plan_in_float64
from workloads.lifted.graph import TensorId
from workloads.lifted.plan import ControlDependency, ReadVersion

DOUBLE, FLOAT = 2, 1


def test_what_a_node_read_and_waited_for_its_formula_does():
    plan = small_plan()
    phase = plan.phases[0]
    phase.versions = [ReadVersion("loss0", "w", 1), ReadVersion("loss1", "w", 1)]
    phase.control_dependencies = [ControlDependency("update", "loss0"), ControlDependency("loss0", "loss1")]
    phase.other_control_dependencies = [[ControlDependency("loss1", "loss0")]]
    entrances = {"loss0": ["loss0/a", "loss0/b"]}
    made = plan_in_float64(plan, Rewritten([], lambda tensor: DOUBLE, {}, entrances, [])).phases[0]
    assert [read.node for read in made.versions] == ["loss0", "loss0/a", "loss0/b", "loss1"]
    assert made.control_dependencies == [("update", "loss0/a"), ("update", "loss0/b"), ("loss0", "loss1")]
    assert made.other_control_dependencies == [[("loss1", "loss0/a"), ("loss1", "loss0/b")]]
    assert phase.control_dependencies[0] == ("update", "loss0")  # the plan itself is as it was


def test_types_follow_the_graph_and_arguments_their_casts():
    casts = {TensorId("rate", 0): TensorId("rate/wide", 0)}
    rewritten = Rewritten([], lambda tensor: FLOAT if tensor.node == "rate" else DOUBLE, casts, {}, [])
    plan = plan_in_float64(small_plan(), rewritten)
    assert plan.tensors["rate:0"].dtype == "float32" and plan.tensors["mean:0"].dtype == "float64"
    assert plan.variables[0].dtype == "float64" and plan.inputs[0].dtype == "float32"
    (effect,) = plan.phases[0].effects
    assert effect.values == ["rate/wide:0", "mean:0"] and effect.learning_rate == "rate/wide:0"
