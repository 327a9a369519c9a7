import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.folding.settings import fold_known, fold_settings
from tests.legacy.saved.graphs import graph_of
from workloads.support.errors import InputError

BOOLEAN = {"dtype": tf.bool}
#: `y` is x + 1 if the predicate holds, and x - 1 otherwise.
COND = """
    {predicate} = Placeholder()
    x = Placeholder()
    one = Const()
    switch = Switch(x, {predicate})
    add = Add(switch:1, one)
    sub = Sub(switch, one)
    y = Merge(sub, add)
    end = Square(y, ^y)
"""


def folded(text, fed=None, **attributes):
    """({node: inputs as written} of the folded graph, the settings)."""
    graph, settings = fold_settings(graph_of(text, **attributes), fed or {})
    return {name: list(node.input) for name, node in graph.nodes.items()}, settings


def test_a_training_switch_is_true_unless_fed():
    nodes, settings = folded(COND.format(predicate="is_training"), is_training=BOOLEAN)
    assert settings == {"is_training": True}
    assert nodes == {"is_training": [], "x": [], "one": [], "add": ["x", "one"], "end": ["add", "^add"]}


def test_a_fed_switch_takes_the_other_branch():
    nodes, settings = folded(COND.format(predicate="is_training"), {"is_training": "False"}, is_training=BOOLEAN)
    assert settings == {"is_training": False}
    assert nodes["end"] == ["sub", "^sub"] and "add" not in nodes and "switch" not in nodes


def test_numbers_of_a_branch_that_others_use_too_are_copied_once():
    text = COND.format(predicate="is_training") + "abs = Abs(switch:1)\n outside = Exp(x)"
    nodes, _ = folded(text, is_training=BOOLEAN, switch={"T": tf.float32})
    assert nodes["switch/taken"] == ["x"] and nodes["add"][0] == nodes["abs"][0] == "switch/taken"


@pytest.mark.parametrize("read", ["", "p = Identity(is_training)"])
def test_the_pivot_of_a_branch_does_not_read_the_variable_that_decided_it(read):
    """A step whose branches are decided has no such variable, so that nothing may ask for its value."""
    text = COND.format(predicate="is_training").replace("is_training = Placeholder()", "is_training = VariableV2()")
    predicate = "p" if read else "is_training"
    text = text.replace("(x, is_training)", f"(x, {predicate})") + f"{read}\n pivot = Switch({predicate}, {predicate})"
    text += "\n text = Identity(pivot:1)\n keep = Const(^text)\n other = Identity(is_training)"
    graph, settings = fold_settings(graph_of(text, is_training=BOOLEAN, pivot={"T": tf.bool}), {"is_training": "true"})
    value = graph.nodes[graph.inputs("text")[0].node]
    assert settings == {"is_training": True}
    assert value.op == "Const" and bool(tf.make_ndarray(value.attr["value"].tensor))
    assert [tensor.node for tensor in graph.inputs("other")] == ["is_training"]  # itself stays
    assert [tensor.node for tensor in graph.inputs("add")] == ["x", "one"]


def test_a_predicate_of_another_name_stays_open():
    text = COND.format(predicate="flag")
    nodes, settings = folded(text, flag=BOOLEAN)
    assert settings == {} and nodes["y"] == ["sub", "add"]
    graph = graph_of(text, flag=BOOLEAN)
    assert fold_settings(graph, {})[0] is graph


@pytest.mark.parametrize(
    "predicate, live",
    [
        ("p = LogicalNot(train)", "sub"),
        ("p = LogicalAnd(train, other)", "sub"),
        ("p = LogicalOr(train, other)", "add"),
        ("p = Identity(train)", "add"),
    ],
)
def test_logical_ops_of_settings_decide_too(predicate, live):
    text = COND.replace("{predicate} = Placeholder()", f"train = Placeholder()\n other = Placeholder()\n {predicate}")
    fed = {"other": "false"}
    nodes, _ = folded(text.format(predicate="p"), fed, train=BOOLEAN, other=BOOLEAN)
    assert nodes["end"] == [live, "^" + live]


def test_a_predicate_that_also_depends_on_data_stays_open():
    text = COND.replace(
        "{predicate} = Placeholder()", "train = Placeholder()\n d = Placeholder()\n p = LogicalAnd(train, d)"
    )
    nodes, _ = folded(text.format(predicate="p"), train=BOOLEAN, d=BOOLEAN)
    assert nodes["y"] == ["sub", "add"]


def test_a_cond_inside_a_dead_branch_is_gone_and_inside_a_live_one_is_decided_too():
    text = """
        train = Placeholder()
        x = Placeholder()
        outer = Switch(x, train)
        pivot = Switch(train, train)
        inner = Switch(outer:1, pivot:1)
        a = Square(inner:1)
        b = Neg(inner)
        inner_end = Merge(b, a)
        dead_inner = Switch(outer, pivot)
        c = Neg(dead_inner)
        d = Square(dead_inner:1)
        dead_end = Merge(c, d)
        y = Merge(dead_end, inner_end)
        end = Identity(y)
    """
    nodes, _ = folded(text, train=BOOLEAN)
    assert nodes == {"train": [], "x": [], "a": ["x"], "end": ["a"]}


@pytest.mark.parametrize("fed, live, number", [("true", "add", 1), ("false", "sub", 0)])
def test_second_derivatives_switch_on_the_number_of_a_merges_input(fed, live, number):
    """As the gradient of a Merge that `tf.gradients` made does, which belongs to no `cond`."""
    text = (
        COND.format(predicate="is_training")
        + """
        zero = Const()
        first = Equal(y:1, zero)
        second = Equal(y:1, one)
        of_first = Switch(end, first)
        of_second = Switch(end, second)
        a = Neg(of_first:1)
        b = Tanh(of_second:1)
        number = Identity(y:1)
        """
    )
    integers = {
        "zero": {"value": np.array(0, np.int32), "dtype": tf.int32},
        "one": {"value": np.array(1, np.int32), "dtype": tf.int32},
    }
    graph, _ = fold_settings(graph_of(text, is_training=BOOLEAN, **integers), {"is_training": fed})
    assert ("b" in graph.nodes, "a" in graph.nodes) == (live == "add", live == "sub")
    (taken,) = graph.inputs("b" if live == "add" else "a")
    assert taken.node == "end" and "y" not in graph.nodes
    (value,) = graph.inputs("number")
    assert tf.make_ndarray(graph.nodes[value.node].attr["value"].tensor) == number


@pytest.mark.parametrize(
    "condition, fed, taken",
    [
        ("train", "true", "moments"),
        ("train", "false", "moving"),
        ("ExpandDims(train, zero)", "true", "moments"),
        ("Reshape(train, shape)", "false", "moving"),
        ("Greater(moments, moving)", "true", "value"),
    ],
)
def test_a_where_on_a_setting_is_the_value_that_it_takes(condition, fed, taken):
    """As `batch_normalization` of TensorFlow 1.4 chooses between the moments of the batch and the moving ones."""
    text = f"""
        train = Placeholder()
        zero = Const()
        shape = Const()
        moments = Placeholder()
        moving = Placeholder()
        condition = {condition if "(" in condition else f"Identity({condition})"}
        value = Select(condition, moments, moving)
        end = Rsqrt(value)
        """
    numbers = {
        "zero": {"value": np.array(0, np.int32), "dtype": tf.int32},
        "shape": {"value": np.array([1], np.int32), "dtype": tf.int32},
    }
    nodes, _ = folded(text, {"train": fed}, train=BOOLEAN, **numbers)
    assert nodes["end"] == [taken] and ("value" in nodes) == (taken == "value")


def test_nodes_that_only_wait_for_a_dead_branch_are_gone_with_it():
    text = """
        train = Placeholder()
        switch = Switch(train, train)
        pivot_true = Identity(switch:1)
        pivot_false = Identity(switch)
        in_true = Const(^pivot_true)
        in_false = Const(^pivot_false)
        end = NoOp(^in_true, ^in_false)
    """
    nodes, _ = folded(text, train=BOOLEAN)
    assert "in_false" not in nodes and nodes["in_true"] == ["^pivot_true"]


def test_a_fed_placeholder_becomes_a_constant_of_its_dtype():
    graph, settings = fold_settings(
        graph_of(
            "rate = PlaceholderWithDefault(half)\n half = Const()\n y = Mul(rate, half)", rate={"dtype": tf.float32}
        ),
        {"rate": "0.25"},
    )
    node = graph.nodes["rate"]
    assert settings == {"rate": 0.25} and node.op == "Const" and list(node.input) == []
    assert tf.make_ndarray(node.attr["value"].tensor).tolist() == 0.25
    assert tf.as_dtype(node.attr["dtype"].type) == tf.float32


def test_what_cannot_be_fed_is_named():
    with pytest.raises(InputError, match="--feed: got 'y', no such placeholder"):
        folded("x = Placeholder()\n y = Square(x)", {"y": "1"})
    with pytest.raises(InputError, match="--feed: got 'z', no such placeholder"):
        folded("x = Placeholder()", {"z": "1"})
    with pytest.raises(InputError, match="--feed: got x='high', expected a float32 scalar"):
        folded("x = Placeholder()", {"x": "high"}, x={"dtype": tf.float32})


def test_a_float_has_no_more_digits_than_its_dtype():
    graph = graph_of("rate = Placeholder()", rate={"dtype": tf.float32})
    _, settings = fold_settings(graph, {"rate": "0.9"})
    assert settings == {"rate": 0.9}


@pytest.mark.parametrize("train_op, switches", [("end", False), ("x", True)])
def test_variables_that_a_step_asks_are_initialized(train_op, switches):
    """What other runs ask, as those that initialize them, is not decided."""
    text = COND.format(predicate="asked").replace("asked = Placeholder()", "v = VariableV2()\n    asked = {}(v)")
    graph = fold_known(graph_of(text.format("IsVariableInitialized"), asked=BOOLEAN), [train_op])
    assert ("switch" in graph.nodes) == switches and ("sub" in graph.nodes) == switches


def test_another_question_about_a_variable_is_not_decided():
    text = COND.format(predicate="asked").replace("asked = Placeholder()", "v = VariableV2()\n    asked = IsFinite(v)")
    assert "switch" in fold_known(graph_of(text, asked=BOOLEAN), ["end"]).nodes


@pytest.mark.parametrize("truth, taken", [(True, "add"), (False, "sub")])
@pytest.mark.parametrize("between", ["", "id = Identity(p)"])
def test_a_branch_of_a_constant_predicate_is_never_taken(truth, taken, between):
    predicate = {"dtype": tf.bool, "value": np.array(truth)}
    text = COND.format(predicate="id" if between else "p").replace(("id" if between else "p") + " = Placeholder()", "")
    graph = fold_known(graph_of(f"p = Const()\n{between}\n{text}", p=predicate), ["end"])
    assert list(graph.nodes["end"].input) == [taken, "^" + taken]
    assert not {"switch", "y", "add", "sub"} - {taken} & set(graph.nodes)


def test_branches_that_the_step_does_not_depend_on_are_left():
    """As those of another train op, or of a summary."""
    graph = graph_of(
        "p = Const()\n" + COND.format(predicate="p").replace("p = Placeholder()", ""),
        p={"dtype": tf.bool, "value": np.array(True)},
    )
    assert fold_known(graph, ["x"]) is graph
