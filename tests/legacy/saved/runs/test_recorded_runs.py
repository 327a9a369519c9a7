"""What the recording beside a graph file says of the program's runs."""

import json

import pytest
import tensorflow as tf

from legacy.saved.graph import graph_file
from legacy.saved.runs.recorded_runs import Ran, ran_in_recording
from tests.legacy.saved.graphs import graph_of

#: Two optimizers; `all` runs both, the loss waits for one of them, and an update of a statistic is left to the program.
PROGRAM = """
    w = VariableV2()
    v = VariableV2()
    mean = VariableV2()
    x = Placeholder()
    update_w = ApplyGradientDescent(w)
    update_v = ApplyGradientDescent(v)
    train_w = NoOp(^update_w)
    train_v = NoOp(^update_v)
    all = NoOp(^update_w, ^update_v)
    loss = Square(x, ^update_w)
    moved = AssignSub(mean, x)
    bn = NoOp(^moved)
    one = Const()
    w/clipped = Minimum(w, one)
    w/clip = Assign(w, w/clipped)
    v/clipped = Minimum(v, one)
    v/clip = Assign(v, v/clipped)
"""


#: Further updates of the same variables.
AGAIN = """
    again_w = ApplyGradientDescent(w)
    again_v = ApplyGradientDescent(v)
    again = NoOp(^again_w, ^again_v)
"""


def ran(tmp_path, steps, update_ops=("moved",), more=""):
    """What is read from a graph file with a recording of `steps` beside it; of a text, with that text."""
    graph = graph_of(PROGRAM + more)
    saved = graph_file.SavedGraph(
        graph, {"update_ops": list(update_ops), "trainable_variables": ["w", "v"]}, "1.15", str(tmp_path / "graph.meta")
    )
    text = steps if isinstance(steps, str) else json.dumps({"format": 1, "steps": steps})
    (tmp_path / "recording.json").write_text(text)
    return ran_in_recording(saved)


@pytest.mark.parametrize(
    "steps, expected",
    [
        ([["train_w", "train_v"]] * 3, ["train_v+train_w"]),  # though `all` would be chosen
        ([["train_v"], ["train_w"]] * 3, ["train_v", "train_w"]),
        ([["train_v"], ["train_v"], ["train_w"]] * 2, ["train_v", "train_v", "train_w"]),
        ([["train_v"], ["train_w"], ["train_w"]], ["train_v", "train_w"]),  # no period is seen twice
        ([["train_w", "train_v", "loss"]] * 2, ["train_v+train_w"]),
        ([["loss", "train_v"]] * 2, ["loss+train_v"]),  # which waits for the update
        ([["train_w", "train_v"], ["w/clip", "v/clip"]] * 2, ["train_v+train_w", "v/clip+w/clip"]),
    ],
)
def test_the_train_ops_that_were_run(tmp_path, steps, expected):
    assert ran(tmp_path, steps) == Ran(expected, [])


def test_a_train_op_that_was_run_alone_beside_others_of_the_same_variables(tmp_path):
    """A program may make train ops that it never runs, such as one for each tower before the one of their mean."""
    assert ran(tmp_path, [["again"]] * 2, more=AGAIN) == Ran(["again"], [])
    assert ran(tmp_path, [["again_w"]] * 2, more=AGAIN) == Ran()


#: An update of gradients that runs of their own add up in `sum`, and set back.
KEPT = """
    sum = VariableV2()
    w/loss = Square(w)
    gradients/w/loss_grad/Mul = Mul(w)
    add = AssignAdd(sum, gradients/w/loss_grad/Mul)
    add_loss = AddN(w/loss)
    zeros = Const()
    forget = Assign(sum, zeros)
    sum/read = Identity(sum)
    apply_w = ApplyGradientDescent(w, sum/read)
    apply_v = ApplyGradientDescent(v, sum/read)
    use = NoOp(^apply_w, ^apply_v)
"""


def test_runs_that_add_up_gradients_are_turns(tmp_path):
    period = [["forget"], ["add", "add_loss"], ["add", "add_loss"], ["use"]]
    assert ran(tmp_path, period * 2, more=KEPT) == Ran(["forget", "add", "add", "use"], [])


def test_updates_that_every_run_fetched_beside_the_train_op(tmp_path):
    both = ["train_v", "train_w"]
    assert ran(tmp_path, [[*both, "bn"]] * 2) == Ran(["train_v+train_w"], ["bn"])
    assert ran(tmp_path, [[*both, "bn"], both]) == Ran(["train_v+train_w"], [])
    assert ran(tmp_path, [[*both, "bn"]] * 2, update_ops=()) == Ran(["train_v+train_w"], [])


@pytest.mark.parametrize(
    "steps",
    [
        [["all"]] * 2,  # what the graph suggests, too
        [["train_w"]] * 2,  # a part of the updates
        [["another program's op"]],
        [["x"]],
        [],
        [1],
        "{",
        "[]",
        '{"steps": 1}',
    ],
)
def test_what_says_nothing_more_than_the_graph(tmp_path, steps):
    assert ran(tmp_path, steps) == Ran()


def test_without_a_recording(tmp_path):
    saved = graph_file.SavedGraph(graph_of(PROGRAM), {}, "1.15", str(tmp_path / "graph.meta"))
    assert ran_in_recording(saved) == Ran()
    assert isinstance(saved.graph_def, tf.compat.v1.GraphDef)


#: A schedule's counter, which an op beside the train op raises after its updates.
COUNTED = """
    step = VariableV2()
    step/read = Identity(step)
    scaled = Mul(step/read)
    apply_w = ApplyGradientDescent(w, scaled)
    apply_v = ApplyGradientDescent(v, scaled)
    both = NoOp(^apply_w, ^apply_v)
    more = Const()
    raise = AssignAdd(step, more, ^both)
"""


def test_a_counter_that_every_run_raised_beside_the_train_op(tmp_path):
    """As tf_cnn_benchmarks does: the train op reads it, and raises it not."""
    assert ran(tmp_path, [["both", "raise"]] * 3, more=COUNTED) == Ran(["both"], ["raise"])
    assert ran(tmp_path, [["both"]] * 3, more=COUNTED) == Ran(["both"], [])


def test_a_counter_that_every_run_raised_once_more_beside_the_train_op(tmp_path):
    """As an `inc_op` beside `apply_gradients(..., global_step)`: the schedule's counter counts twice."""
    counts = COUNTED.replace("both = NoOp(^apply_w, ^apply_v)", "both = AssignAdd(step, more, ^apply_w, ^apply_v)")
    counts = counts.replace(", ^both)", ")")
    assert ran(tmp_path, [["both", "raise"]] * 3, more=counts) == Ran(["both"], ["raise"])
    assert ran(tmp_path, [["both", "raise"], ["both"]], more=counts) == Ran(["both"], [])


#: Rows of a weight and of another variable that are set to constants.
CLEARED = """
    zero = Const()
    clear = ScatterUpdate(w, zero, zero)
    other = VariableV2()
    clear_other = ScatterUpdate(other, zero, zero)
    w/Assign = Assign(w, zero)
"""


def test_rows_of_a_weight_that_every_run_set_beside_the_train_op(tmp_path):
    assert ran(tmp_path, [["all", "clear"]] * 3, more=CLEARED) == Ran(["all"], ["clear"])
    assert ran(tmp_path, [["all", "clear_other"]] * 3, more=CLEARED) == Ran()  # which no step uses
    assert ran(tmp_path, [["all", "clear"], ["all"]], more=CLEARED) == Ran()


def test_a_run_of_many_ops_is_not_listed_in_full():
    many, few = Ran(["a+b+c+d", "train"]), Ran(["a+b+c", "train"])
    assert many.is_long and many.describe() == "a+b+c and 1 more at once, train in turn"
    assert not few.is_long and few.describe() == "a+b+c, train in turn" and few.flags() == ["--train_op=a+b+c,train"]
