"""Gradients that are applied in another run than those that add them up: refused unless a period names all runs."""

import pytest

from legacy.saved.graph.assignments import variable_of
from legacy.saved.runs.accumulation import (
    accumulating_writes,
    accumulators,
    queued_gradients,
    require_accumulation,
    require_own_gradients,
)
from tests.legacy.saved.graphs import graph_of
from tests.refusals import refusal
from workloads.support.errors import InputError

#: `train` applies what `keep` adds up; `forget` sets it back.
APART = """
    x = Placeholder()
    w = VariableV2()
    sum = VariableV2()
    rate = Const()
    zero = Const()
    sum/Assign = Assign(sum, zero)
    gradients/Mul = Mul(x, w)
    add = AssignAdd(sum, gradients/Mul)
    keep = NoOp(^add)
    total = Identity(sum)
    apply = ApplyGradientDescent(w, rate, total)
    train = NoOp(^apply)
    back = Assign(sum, zero)
    forget = NoOp(^back)
    init = NoOp(^sum/Assign)
    """


def test_the_runs_of_a_period_are_named():
    with pytest.raises(InputError) as caught:
        require_accumulation(graph_of(APART), ["train"])
    assert str(caught.value) == (
        "--train_op: train applies gradients that other runs add up in sum; name the runs of a period in their order, "
        "as often as the program did, such as --train_op=keep,keep,train,forget"
    )


@pytest.mark.parametrize(
    "runs, targets",
    [
        (APART, ["keep", "train"]),
        (APART.replace("train = NoOp(^apply)", "train = NoOp(^apply, ^keep)"), ["train"]),
        (APART.replace("total = Identity(sum)", "total = Identity(gradients/Mul)"), ["train"]),
        (APART.replace("AssignAdd(sum, gradients/Mul)", "Assign(sum, w)"), ["train"]),
    ],
)
def test_gradients_that_the_same_period_brings_are_fine(runs, targets):
    """All runs are named; one op runs all; gradients are applied directly; a variable takes a copy of the weight."""
    assert refusal(require_accumulation, graph_of(runs), targets) == ""


@pytest.mark.parametrize(
    "runs, period",
    [
        (APART.replace("train = NoOp(^apply)", "train = NoOp(^apply, ^back)"), "keep,keep,train"),
        (APART.replace("back = Assign(sum, zero)", "back = Identity(zero)"), "keep,keep,train,init"),
        (APART.replace("total = Identity(sum)", "total = Add(sum, gradients/Mul)"), "keep,train,forget"),
    ],
)
def test_what_sets_the_sum_back(runs, period):
    """The train op itself; the sum's own initializer; and a last gradient, of another batch, that is not kept."""
    with pytest.raises(InputError, match=f"--train_op={period}$"):
        require_accumulation(graph_of(runs), ["train"])


@pytest.mark.parametrize("other, period", [("count", "keep,keep,train,forget"), ("w", "keep,keep,train")])
def test_what_sets_the_sum_back_may_set_a_count_back_and_not_a_weight(other, period):
    runs = APART + f"    count = VariableV2()\n    other/back = Assign({other}, zero)\n"
    with pytest.raises(InputError, match=f"--train_op={period}$"):
        require_accumulation(graph_of(runs.replace("NoOp(^back)", "NoOp(^back, ^other/back)")), ["train"])


@pytest.mark.parametrize("summed, period", [(True, "keep,keep,train,forget"), (False, "keep,keep,train")])
def test_a_trainable_number_that_the_runs_add_to_may_be_set_back(summed, period):
    """As of a sum of losses, which `tf.Variable` makes trainable; a weight that no such run changes may not be."""
    runs = APART.replace("NoOp(^back)", "NoOp(^back, ^total_back)") + "    losses = VariableV2()\n"
    runs += "    total_back = Assign(losses, zero)\n    add_loss = AssignAdd(losses, x)\n"
    graph = graph_of(runs.replace("NoOp(^add)", "NoOp(^add, ^add_loss)") if summed else runs)
    with pytest.raises(InputError, match=f"--train_op={period}$"):
        require_accumulation(graph, ["train"], ["w", "losses"])


#: `train` applies a second sum, to which `more` adds.
TWO_SUMS = """
    v = VariableV2()
    other = VariableV2()
    gradients/Neg = Neg(v)
    add_other = AssignAdd(other, gradients/Neg)
    more = NoOp(^add_other)
    other_total = Identity(other)
    apply_other = ApplyGradientDescent(v, rate, other_total)
    """


def test_runs_that_add_up_the_gradients_of_some_weights_are_a_period():
    """A program may forget the others; where the runs add up none, it is they that are not named."""
    graph = graph_of(APART.replace("train = NoOp(^apply)", "train = NoOp(^apply, ^apply_other)") + TWO_SUMS)
    assert refusal(require_accumulation, graph, ["keep", "train"]) == ""
    assert "runs add up in sum, other" in refusal(require_accumulation, graph, ["train"])


def test_all_of_many_ops_that_were_fetched_in_one_run_are_named():
    numbers = range(1, 20)
    one = "    sum_? = VariableV2()\n    add_? = AssignAdd(sum_?, gradients/Mul)\n    back_? = Assign(sum_?, zero)\n"
    sums = "".join(one.replace("?", str(n)) for n in numbers)
    total = f"AddN(sum, {', '.join(f'sum_{n}' for n in numbers)})"
    runs = (APART + sums).replace("Identity(sum)", total).replace("keep = NoOp(^add)", "")
    with pytest.raises(InputError) as caught:
        require_accumulation(graph_of(runs), ["train"])
    adding, _, _, setting_back = str(caught.value).rpartition("--train_op=")[2].split(",")
    assert set(adding.split("+")) == {"add"} | {f"add_{n}" for n in numbers}
    assert set(setting_back.split("+")) == {"forget"} | {f"back_{n}" for n in numbers}


def test_ops_that_were_fetched_in_one_run_are_joined():
    runs = APART + "other = VariableV2()\n add_1 = AssignAdd(other, gradients/Mul)"
    runs = runs.replace("keep = NoOp(^add)", "").replace("total = Identity(sum)", "total = Add(sum, other)")
    with pytest.raises(InputError, match=r"in sum, other; .*--train_op=add\+add_1,add\+add_1,train,forget$"):
        require_accumulation(graph_of(runs), ["train"])


def test_weights_that_another_optimizer_trains_are_no_sums():
    runs = APART.replace("total = Identity(sum)", "total = Add(sum, gradients/Mul)")
    assert accumulating_writes(graph_of(runs), ["apply"]) == {"sum": ["add"]}
    assert accumulating_writes(graph_of(runs), ["apply"], ["w", "sum"]) == {}


def test_a_count_in_a_branch_that_gradients_decide_on_is_no_sum():
    """A learning rate reads it; the count itself is made of numbers."""
    graph = graph_of("""
        w = VariableV2()
        step = VariableV2()
        one = Const()
        gradients/Mul = Mul(w)
        finite = IsFinite(gradients/Mul)
        count = Switch(step, finite)
        added = Switch(one, finite)
        raise = AssignAdd(count:1, added:1)
        rate = Mul(step)
        apply = ApplyGradientDescent(w, rate, gradients/Mul)
        """)
    assert accumulating_writes(graph, ["apply"]) == {}


def test_the_variable_of_an_update():
    graph = graph_of("v = VarHandleOp()\n passed = Identity(v)\n x = Const()\n set = AssignVariableOp(passed, x)")
    assert variable_of(graph, "set") == "v"
    assert variable_of(graph, "x") is None


#: `train` applies what `put` has put into a queue.
QUEUED = """
    x = Placeholder()
    w = VariableV2()
    rate = Const()
    queue = FIFOQueueV2()
    gradients/Mul = Mul(x, w)
    put = QueueEnqueueV2(queue, gradients/Mul)
    size = Const()
    take = QueueDequeueManyV2(queue, size)
    mean = Mean(take)
    apply = ApplyGradientDescent(w, rate, mean)
    train = NoOp(^apply)
    """
#: Batches wait in the queue.
DATA = QUEUED.replace("gradients/Mul = Mul(x, w)", "").replace("queue, gradients/Mul", "queue, x")
#: The batches are made by means of gradients, and the train op differentiates by itself.
ADVERSARIAL = QUEUED.replace("mean = Mean(take)", "gradients_1/Mul = Mul(take, w)").replace(
    "rate, mean", "rate, gradients_1/Mul"
)
STAGED = QUEUED.replace("QueueEnqueueV2(queue, gradients/Mul)", "Stage(gradients/Mul)").replace(
    "QueueDequeueManyV2(queue, size)", "Unstage()"
)


@pytest.mark.parametrize("text, places", [(QUEUED, {"queue": ["put"]}), (STAGED, {"a staging area": ["put"]})])
def test_queues_of_gradients_are_found(text, places):
    assert queued_gradients(graph_of(text), ["apply"]) == places


@pytest.mark.parametrize("text", [DATA, ADVERSARIAL])
def test_queues_of_data_are_none(text):
    graph = graph_of(text)
    assert queued_gradients(graph, ["apply"]) == {} and refusal(require_own_gradients, graph, ["train"]) == ""


def test_such_a_train_op_is_refused():
    assert refusal(require_own_gradients, graph_of(QUEUED), ["train"]) == (
        "graph file: train applies gradients that come out of queue, into which runs of their own put them: no lift "
        "has those runs"
    )


@pytest.mark.parametrize("read_after, kept", [("^move", []), ("^zero", ["slot"])])
def test_a_slot_that_is_read_behind_its_change_is_no_sum_between_runs(read_after, kept):
    """The change of a handle has no output: what reads the variable behind it has its result."""
    text = f"""
        x = Placeholder()
        rate = Const()
        zero = Const()
        w = VarHandleOp()
        w/read = ReadVariableOp(w)
        gradients/Mul = Mul(x, w/read)
        slot = VarHandleOp()
        move = AssignAddVariableOp(slot, gradients/Mul)
        moved = ReadVariableOp(slot, {read_after})
        apply = ResourceApplyGradientDescent(w, rate, moved)
        train = NoOp(^apply, ^move)
        """
    assert sorted(accumulators(graph_of(text), ["apply"], ["w"])) == kept


#: `train` applies dense gradients by an optimizer's op, whose slot the rows of another run's gradients are added to.
SLOT_OF_ROWS = """
    x = Placeholder()
    w = VariableV2()
    m = VariableV2()
    rate = Const()
    gradients/Mul = Mul(x, w)
    gradients_1/Mul = Mul(x, w)
    rows = ScatterAdd(m, x, gradients_1/Mul)
    beside = NoOp(^rows)
    apply = ApplyMomentum(w, m, rate, gradients/Mul)
    train = NoOp(^apply)
    """


def test_a_slot_that_another_run_adds_rows_to_keeps_no_gradients():
    require_accumulation(graph_of(SLOT_OF_ROWS), ["train"])
    taken = SLOT_OF_ROWS.replace("apply =", "kept = Identity(m)\n    all = AddN(kept, gradients/Mul)\n    apply =")
    with pytest.raises(InputError, match="applies gradients that other runs add up in m"):
        require_accumulation(
            graph_of(taken.replace("w, m, rate, gradients/Mul", "w, v, rate, all") + "v = VariableV2()"), ["train"]
        )


#: A run sets `kept` in a branch, or applies it and what it would have set it to.
BEGUN_IN_A_BRANCH = """
    x = Placeholder()
    rate = Const()
    w = VariableV2()
    kept = VariableV2()
    flag = VariableV2()
    gradients/Mul = Mul(x, w)
    is_first = Identity(flag)
    own = Switch(gradients/Mul, is_first)
    kept/in = RefSwitch(kept, is_first)
    begin = Assign(kept/in:1, own:1)
    kept/read = Identity(kept)
    before = Switch(kept/read, is_first)
    add = Add(before, own)
    taken = Merge(add, begin)
    apply = ApplyGradientDescent(w, rate, taken)
    """


@pytest.mark.parametrize(
    "value, kept",
    [
        ("own:1", {"kept": ["begin"]}),
        ("moved)\n    moved = Add(before:1, own:1", {}),  # as a moment that is kept where gradients are not finite
        ("own:1)\n    other = Assign(flag, x", {"kept": ["begin"]}),
    ],
)
def test_a_sum_may_be_begun_in_a_branch(value, kept):
    graph = graph_of(BEGUN_IN_A_BRANCH.replace("own:1", value, 1))
    assert accumulating_writes(graph, ["apply"], ["w"]) == accumulators(graph, ["apply"], ["w"]) == kept


def test_what_is_set_outside_of_branches_and_applied_beside_is_no_sum():
    graph = graph_of(BEGUN_IN_A_BRANCH.replace("Assign(kept/in:1, own:1)", "Assign(kept, gradients/Mul)"))
    assert accumulators(graph, ["apply"], ["w"]) == {}
