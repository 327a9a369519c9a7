import pytest
import tensorflow as tf

from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.graph.variables import GraphVariable, VariableUses
from tests.legacy.saved.graphs import traced
from workloads.support.errors import InputError

v1 = tf.compat.v1


def uses_of(build, trainable=()):
    graph = traced(build)
    return VariableUses(graph, ImportedGraph(graph), set(trainable))


def reference(name="w", shape=(2,)):
    """A reference variable without an initializer, as one node."""
    return tf.raw_ops.VariableV2(shape=shape, dtype=tf.float32, name=name)


def handle(name="r"):
    return tf.raw_ops.VarHandleOp(shape=[2], dtype=tf.float32, name=name)


def test_a_reference_variable_is_read_where_its_alias_is_used():
    def build():
        w = reference()
        alias = tf.raw_ops.Identity(input=w, name="w/read")
        tf.negative(tf.raw_ops.Identity(input=alias, name="again"), name="use")

    uses = uses_of(build)
    assert uses.variables == {"w": GraphVariable("w", [2], "float32", resource=False)}
    assert uses.aliases == {("w", 0): "w", ("w/read", 0): "w", ("again", 0): "w"}
    assert uses.reads == {"use": ["w"]} and uses.writes == {} and uses.rules == set()


def test_an_update_writes_and_its_output_is_the_variable_still():
    def build():
        w = reference()
        updated = tf.raw_ops.ApplyGradientDescent(var=w, alpha=0.5, delta=[1.0, 2.0], name="update")
        tf.negative(updated, name="use")

    uses = uses_of(build)
    assert uses.writes == {"update": ["w"]} and uses.rules == {"update"}
    assert uses.aliases["update", 0] == "w" and uses.reads == {"use": ["w"]}


def test_an_update_of_several_variables_passes_the_first_on():
    def build():
        w, slot = reference("w"), reference("slot")
        updated = tf.raw_ops.ApplyMomentum(var=w, accum=slot, lr=0.5, grad=[1.0, 2.0], momentum=0.5, name="update")
        tf.negative(updated, name="use")

    uses = uses_of(build)
    assert uses.writes == {"update": ["w", "slot"]}
    assert uses.aliases["update", 0] == "w" and uses.reads == {"use": ["w"]}


def test_variables_of_an_update_are_in_its_own_order_whatever_the_graphs():
    """Centered RMSProp makes the mean square first and takes the mean gradient first."""

    def build():
        mean_square, w, mean, moment = (reference(name) for name in ("mean_square", "w", "mean", "moment"))
        numbers = {"lr": 0.5, "rho": 0.5, "momentum": 0.5, "epsilon": 0.5, "grad": [1.0, 2.0], "name": "update"}
        updated = tf.raw_ops.ApplyCenteredRMSProp(var=w, mg=mean, ms=mean_square, mom=moment, **numbers)
        tf.negative(updated, name="use")

    uses = uses_of(build)
    assert uses.writes == {"update": ["w", "mean", "mean_square", "moment"]}
    assert uses.aliases["update", 0] == "w" and uses.reads["use"] == ["w"]


def test_a_resource_variable_is_read_by_read_ops_and_written_by_others():
    def build():
        r = handle()
        passed = tf.raw_ops.Identity(input=r, name="passed")
        tf.raw_ops.ReadVariableOp(resource=passed, dtype=tf.float32, name="read")
        tf.raw_ops.VarIsInitializedOp(resource=r, name="initialized")
        tf.raw_ops.AssignSubVariableOp(resource=r, value=[1.0, 1.0], name="step")

    uses = uses_of(build)
    assert uses.variables["r"].resource
    assert uses.reads == {"read": ["r"]} and uses.writes == {"step": ["r"]}
    assert uses.aliases == {("r", 0): "r", ("passed", 0): "r"}  # a read's value is a copy


def test_a_plain_assignment_trains_only_a_trainable_variable_by_gradients():
    def build():
        w = reference()
        with tf.name_scope("gradients/mul_grad"):
            gradient = tf.constant([1.0, 2.0])
        tf.raw_ops.AssignSub(ref=w, value=gradient, name="by_hand")
        tf.raw_ops.Assign(ref=w, value=[0.0, 0.0], name="reset")

    assert uses_of(build, ["w"]).rules == {"by_hand"}
    assert uses_of(build).rules == set()
    assert set(uses_of(build).writes) == {"by_hand", "reset"}


def test_one_node_that_reads_a_variable_twice_is_one_reader():
    def build():
        w = reference()
        tf.multiply(w, w, name="square")

    assert uses_of(build).reads == {"square": ["w"]}


def test_a_variable_chosen_at_run_time_is_refused():
    def build():
        first, second = (
            tf.raw_ops.RefSwitch(data=reference(name), pred=tf.constant(True), name=f"switch_{name}")
            for name in ("w", "v")
        )
        tf.raw_ops.RefMerge(inputs=[first.output_false, second.output_true], name="chosen")

    with pytest.raises(InputError, match="'chosen': one of several variables is chosen at run time"):
        uses_of(build)


def test_a_variable_that_both_branches_change_comes_out_of_their_merge():
    """As `tf.cond(tf.is_variable_initialized(v), lambda: tf.assign_add(v, x), lambda: tf.assign(v, x))`."""

    def build():
        w = tf.raw_ops.RefSwitch(data=reference("w"), pred=tf.constant(True), name="switch")
        first = tf.raw_ops.Assign(ref=w.output_false, value=[1.0, 1.0], name="set")
        added = tf.raw_ops.AssignAdd(ref=w.output_true, value=[1.0, 1.0], name="add")
        merged = tf.raw_ops.RefMerge(inputs=[first, added], name="merge")
        tf.multiply(merged.output, 2.0, name="double")

    uses = uses_of(build)
    assert uses.writes == {"set": ["w"], "add": ["w"]}
    assert uses.reads == {"double": ["w"]} and uses.passes == {"switch": ["w"], "merge": ["w"]}


def test_a_variable_of_unknown_rank_has_no_shape():
    assert uses_of(lambda: reference(shape=None)).variables["w"].shape is None


def test_a_view_of_a_reference_variable_shares_its_memory():
    def build():
        alias = tf.raw_ops.Identity(input=reference(), name="w/read")
        row = tf.raw_ops.ExpandDims(
            input=tf.raw_ops.Reshape(tensor=alias, shape=[1, 2], name="flat"), axis=0, name="row"
        )
        tf.negative(tf.raw_ops.Identity(input=row), name="use")
        tf.negative(tf.raw_ops.ReverseV2(tensor=alias, axis=[0], name="copy"), name="use_of_a_copy")
        tf.reshape(tf.raw_ops.ReadVariableOp(resource=handle(), dtype=tf.float32), [1, 2], name="copied_too")
        tf.negative(tf.reshape(2.0 * alias, [1, 2]), name="use_of_a_product")

    uses = uses_of(build)
    assert uses.view_uses == {"use": ["w"]}
    assert "flat" in uses.reads and ("flat", 0) not in uses.aliases  # it has another shape than the variable


def in_a_branch(update):
    """A value of a variable that enters a branch, where it is used; `update` makes an update of the variable."""

    def build():
        w, p = reference(), tf.raw_ops.Placeholder(dtype=tf.bool, shape=[], name="p")
        inner = tf.raw_ops.Switch(data=tf.raw_ops.Identity(input=w, name="w/read"), pred=p, name="inner")
        with v1.control_dependencies([update(w, p)]):
            tf.negative(inner.output_true, name="use")

    return uses_of(build)


def test_a_value_in_a_branch_that_updates_its_variable_is_the_variable():
    """Such as the 16-bit copy that is made of a weight where no gradient is infinite, behind its update."""

    def update(w, p):
        entered = tf.raw_ops.RefSwitch(data=w, pred=p, name="entered")
        return tf.raw_ops.AssignAdd(ref=entered.output_true, value=[1.0, 2.0], name="update")

    uses = in_a_branch(update)
    assert uses.reads == {"use": ["w"]}
    assert uses.passes == {"entered": ["w"], "inner": ["w"]}


def test_a_value_in_a_branch_beside_the_update_is_read_where_it_enters():
    uses = in_a_branch(lambda w, p: tf.raw_ops.AssignAdd(ref=w, value=[1.0, 2.0], name="update"))
    assert uses.reads == {"inner": ["w"]} and uses.passes == {}
