import pytest

from legacy.saved.graph.trained import gradient_assignments
from legacy.saved.runs import train_ops
from tests.legacy.saved.graphs import graph_of
from workloads.support.errors import InputError

#: Two optimizers, each with its own train op; `both` runs the two, and `save` uses an update without training.
TWO_OPTIMIZERS = """
    w = VariableV2()
    v = VariableV2()
    update_w = ApplyGradientDescent(w)
    update_v = ApplyGradientDescent(v)
    train_w = NoOp(^update_w)
    train_v = NoOp(^update_v)
"""


def test_train_ops_are_the_unused_ends_of_updates():
    graph = graph_of(TWO_OPTIMIZERS + "save = SaveV2(^update_w)\n step = AssignAdd(w)")
    assert train_ops.find_train_ops(graph) == {"train_v": {"update_v"}, "train_w": {"update_w"}}


@pytest.mark.parametrize(
    "group, others", [("", {"train_v", "update_v", "v"}), ("all = NoOp(^train_w, ^train_v)", set())]
)
def test_what_other_train_ops_run_is_what_runs_without_any_of_the_steps_updates(group, others):
    graph = graph_of(TWO_OPTIMIZERS + group)
    assert train_ops.run_by_others(graph, graph.ancestors(["train_w"])) == others


def test_reads_of_new_values_and_later_gradients_are_no_train_ops_that_a_page_names():
    graph = graph_of(
        TWO_OPTIMIZERS
        + """
        all = NoOp(^train_w, ^train_v)
        read = ReadVariableOp(w, ^update_w)
        gradients/shape = Identity(v, ^update_v)
        """
    )
    assert set(train_ops.find_train_ops(graph)) == {"all", "read", "gradients/shape"}
    assert train_ops.named_train_ops(graph) == {"all": {"update_w", "update_v"}}


def test_a_loss_that_waits_for_updates_is_named_where_no_group_runs_them():
    graph = graph_of(TWO_OPTIMIZERS.replace("train_v = NoOp(", "train_v = Identity(w, "))
    assert set(train_ops.named_train_ops(graph)) == {"train_w", "train_v"}


def test_train_ops_of_the_same_updates_have_each_its_own_set():
    runs = train_ops.find_train_ops(graph_of(TWO_OPTIMIZERS + "again = NoOp(^update_w)"))
    assert runs["again"] == runs["train_w"] == {"update_w"} and runs["again"] is not runs["train_w"]


def test_the_train_op_with_most_updates_comes_first():
    graph = graph_of(TWO_OPTIMIZERS + "all = NoOp(^update_w, ^update_v)")
    assert list(train_ops.find_train_ops(graph)) == ["all", "train_v", "train_w"]
    assert train_ops.choose_train_ops(graph, []) == ["all"]


def test_of_ops_that_run_every_update_the_one_that_runs_most_is_chosen():
    graph = graph_of("""
        w = VariableV2()
        update = ApplyGradientDescent(w)
        short = NoOp(^update)
        step = AssignAdd(w)
        long = NoOp(^update, ^step)
    """)
    assert train_ops.choose_train_ops(graph, []) == ["long"]


def test_several_train_ops_must_be_chosen_from_by_name():
    graph = graph_of(TWO_OPTIMIZERS)
    with pytest.raises(InputError, match=r"several train ops.*train_v \(1 update\), train_w \(1 update\)"):
        train_ops.choose_train_ops(graph, [])
    assert train_ops.choose_train_ops(graph, ["train_w:0", "train_v"]) == ["train_w", "train_v"]
    with pytest.raises(InputError, match="got 'train_x', no such operation"):
        train_ops.choose_train_ops(graph, ["train_x"])


def test_of_hundreds_of_train_ops_some_are_named_and_the_others_counted():
    lines = [f"w{i} = VariableV2()\ntrain_{i} = ApplyGradientDescent(w{i})" for i in range(300)]
    with pytest.raises(train_ops.TrainOpError) as raised:
        train_ops.choose_train_ops(graph_of("\n".join(lines)), [])
    message = str(raised.value)
    assert "(300 of them share no update, and may take turns)" in message and message.endswith(" and 292 more")
    assert message.count("1 update") == 8 and len(raised.value.likely) == 300


def test_train_ops_that_share_no_update_may_take_turns():
    with pytest.raises(train_ops.TrainOpError, match="such as --train_op=train_w,train_v;") as raised:
        train_ops.choose_train_ops(graph_of(TWO_OPTIMIZERS), [])
    assert raised.value.likely == ["train_w", "train_v"]


def test_train_ops_that_share_an_update_do_not():
    graph = graph_of(
        TWO_OPTIMIZERS + "u = VariableV2()\n both = ApplyAdam(u)\n a = NoOp(^both, ^update_w)\n b = NoOp(^both)"
    )
    with pytest.raises(train_ops.TrainOpError) as raised:
        train_ops.choose_train_ops(graph, [])
    assert raised.value.likely == ["train_v", "a"]  # b runs nothing that a does not


#: `train` applies the mean of two towers' gradients; each tower has a `minimize` of its own besides.
WITH_PARTS = """
    x0 = Placeholder()
    x1 = Placeholder()
    w = VariableV2()
    read = Identity(w)
    a = Mul(x0, read)
    b = Mul(x1, read)
    gradients/a_grad/Mul = Mul(a, read)
    gradients_1/b_grad/Mul = Mul(b, read)
    sum = AddN(gradients/a_grad/Mul, gradients_1/b_grad/Mul)
    first = ApplyAdam(w, gradients/a_grad/Mul)
    second = ApplyAdam(w, gradients_1/b_grad/Mul)
    both = ApplyAdam(w, sum)
    minimize = NoOp(^first)
    minimize_1 = NoOp(^second)
    train = NoOp(^both)
    """


def test_a_train_op_of_all_towers_is_likely_alone_beside_those_of_one_tower_each():
    with pytest.raises(train_ops.TrainOpError) as raised:
        train_ops.choose_train_ops(graph_of(WITH_PARTS), [])
    assert raised.value.likely == ["train"]


def test_train_ops_of_as_many_uses_of_a_weight_take_turns():
    """As those that pretrain by one loss, and train by another one of the same network."""
    text = WITH_PARTS.replace("AddN(gradients/a_grad/Mul, gradients_1/b_grad/Mul)", "Neg(gradients/a_grad/Mul)")
    with pytest.raises(train_ops.TrainOpError) as raised:
        train_ops.choose_train_ops(graph_of(text), [])
    assert raised.value.likely == ["minimize", "minimize_1", "train"]


def test_no_train_ops_are_likely_where_each_one_has_a_part_of_another():
    graph = graph_of("""
        w = VariableV2()
        shared = ApplyAdam(w)
        update_w = ApplyAdam(w)
        update_v = ApplyAdam(w)
        train_w = NoOp(^shared, ^update_w)
        train_v = NoOp(^shared, ^update_v)
    """)
    with pytest.raises(train_ops.TrainOpError) as raised:
        train_ops.choose_train_ops(graph, [])
    assert raised.value.likely == []


def test_a_graph_without_updates_does_not_train():
    with pytest.raises(InputError, match="no update op"):
        train_ops.choose_train_ops(graph_of("x = Placeholder()\n y = Square(x)"), [])


BY_HAND = """
    w = VariableV2()
    slot = VariableV2()
    x = Placeholder()
    gradients/mul_grad/Mul = Mul(x, w)
    new = Sub(w, gradients/mul_grad/Mul)
    train = Assign(w, new)
    decay = Assign(slot, gradients/mul_grad/Mul)
    reset = Assign(w, x)
"""


def test_an_assignment_of_gradients_to_a_trainable_variable_trains():
    assert gradient_assignments(graph_of(BY_HAND), {"w"}) == {"train"}  # neither a slot's nor a reset
    assert gradient_assignments(graph_of(BY_HAND), set()) == set()
    assert train_ops.choose_train_ops(graph_of(BY_HAND), [], ["w"]) == ["train"]


ACCUMULATED = """
    w = VariableV2()
    sum = VariableV2()
    x = Placeholder()
    p = Placeholder()
    gradients/mul_grad/Mul = Mul(x, w)
    add = AssignAdd(sum, gradients/mul_grad/Mul)
    taken = Switch(sum, p)
    into = RefSwitch(w, p)
    update = AssignSub(into:1, taken:1)
    reset = Assign(sum, x)
    decay = Assign(w, x)
    train = NoOp(^update)
"""


def test_gradients_reach_a_weight_by_way_of_a_sum_and_in_a_branch():
    """As where BERT adds up gradients of several batches, and a `cond` applies them in every n-th run."""
    graph = graph_of(ACCUMULATED)
    assert gradient_assignments(graph, {"w"}) == {"update"}
    assert gradient_assignments(graph, {"w", "sum"}) == {"add"}, "a weight hands nothing on"
    assert train_ops.choose_train_ops(graph, [], ["w"]) == ["train"]


def test_assignments_by_hand_count_only_where_there_is_no_update_rule():
    graph = graph_of(BY_HAND + "update = ApplyAdam(slot)")
    assert train_ops.find_train_ops(graph, ["w"]) == {"update": {"update"}}


def test_plain_descent_on_rows_trains_too():
    text = """
        w = VariableV2()
        gradients/grad = Neg()
        rows = ScatterSub(w, ids, gradients/grad)
        ids = Const()
        train = NoOp(^rows)
        remember = ScatterUpdate(w, ids, ids)
    """
    graph = graph_of(text)
    assert gradient_assignments(graph, {"w"}) == {"rows"}
    assert gradient_assignments(graph, {"v"}) == set()
    both = graph_of(text + "dense = ApplyGradientDescent(v)\n v = VariableV2()")
    assert train_ops.find_train_ops(both, ["w"]) == {"dense": {"dense"}, "train": {"rows"}}
    assert train_ops.choose_train_ops(graph, [], ["w"]) == ["train"]
