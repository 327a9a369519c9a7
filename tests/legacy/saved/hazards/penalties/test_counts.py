"""How often an update contains a regularization term, from sums, products with constants and means."""

import types

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.penalties.added_later import is_added_later
from legacy.saved.hazards.penalties.counts import _combining_factor, regularization
from tests.legacy.saved.graphs import graph_of, saved, traced
from tests.legacy.saved.programs import saved_penalty_beside_towers
from workloads.lifted.plan import Combine

v1 = tf.compat.v1

PENALTY = """
    w = VariableV2()
    scale = Const()
    x0 = Placeholder()
    x1 = Placeholder()
    tower_0/l2 = L2Loss(w)
    tower_0/data = Mul(x0, w)
    tower_0/loss = AddN(tower_0/l2, tower_0/data)
    tower_1/l2 = L2Loss(w)
    tower_1/data = Mul(x1, w)
    tower_1/loss = AddN(tower_1/l2, tower_1/data)
    tower_0/gradients/grad_ys_0 = Const()
    tower_0/gradients/tower_0/loss_grad/Id = Identity(tower_0/gradients/grad_ys_0)
    tower_0/gradients/tower_0/l2_grad/mul = Mul(w, tower_0/gradients/tower_0/loss_grad/Id)
    tower_1/gradients/grad_ys_0 = Const()
    tower_1/gradients/tower_1/loss_grad/Id = Identity(tower_1/gradients/grad_ys_0)
    tower_1/gradients/tower_1/l2_grad/mul = Mul(w, tower_1/gradients/tower_1/loss_grad/Id)
    sum = AddN(tower_0/gradients/tower_0/l2_grad/mul, tower_1/gradients/tower_1/l2_grad/mul)
    train = ApplyGradientDescent(w, scale, sum)
    """


def found(text, trainable=("w",)):
    graph = graph_of(text, scale={"value": np.array(0.5, np.float32)})
    whole = WholeGraph(saved(graph, trainable_variables=list(trainable)))
    return [(hazard.id, hazard.op, hazard.description) for hazard in regularization(whole)]


def test_a_penalty_in_every_towers_gradient_is_no_hazard():
    assert found(PENALTY) == []
    assert found("x = Placeholder()\nscale = Const()\n") == []


def test_a_penalty_of_a_program_without_towers_is_no_hazard():
    lines = [line.replace("tower_0/", "") for line in PENALTY.splitlines() if "tower_1" not in line]
    assert found("\n".join(lines) + "\n train = ApplyGradientDescent(w, scale, gradients/l2_grad/mul)") == []


def test_a_regularizer_of_keras_is_a_penalty():
    """A product of a scale and a sum of squares, in a name scope of its own."""
    made = "s = Square(w)\nw/Regularizer/Sum = Sum(s, scale)\nw/Regularizer/mul = Mul(scale, w/Regularizer/Sum)\n"
    text = made + PENALTY.replace("tower_0/l2 = L2Loss(w)", "").replace("tower_1/l2 = L2Loss(w)", "")
    text = text.replace("AddN(tower_0/l2, ", "AddN(tower_0/data, ").replace("tower_1/l2, ", "w/Regularizer/mul, ")
    ((name, op, text),) = found(text)
    assert (name, op) == ("REGULARIZATION_ONCE", "w/Regularizer/mul")
    assert "terms in each tower's loss: 0, 1; averaged over 2 towers it counts 0.5 times" in text


def test_a_penalty_of_one_tower():
    ((name, op, text),) = found(PENALTY.replace("AddN(tower_0/l2, tower_0/data)", "AddN(tower_0/data, tower_0/data)"))
    assert (name, op) == ("REGULARIZATION_ONCE", "tower_0/l2")
    assert "1 variable (w): terms in each tower's loss: 0, 1; averaged over 2 towers it counts 0.5 times" in text


def test_penalties_of_the_towers_copies_of_a_model_are_one_term():
    """Each tower has weights of its own, which all towers' gradients update: together the copies have one penalty."""
    first, second = PENALTY.index("    tower_0/l2"), PENALTY.index("    tower_1/l2")
    text = PENALTY[:first].replace("w = ", "w0 = VariableV2()\n    w1 = ")
    text += PENALTY[first:second].replace("w)", "w0)") + PENALTY[second:].replace("w)", "w1)")
    text = text.replace("tower_0/l2_grad/mul = Mul(w,", "tower_0/l2_grad/mul = Mul(w0,")
    text = text.replace("tower_1/l2_grad/mul = Mul(w,", "tower_1/l2_grad/mul = Mul(w1,")
    text = text.replace(
        "train = ApplyGradientDescent(w,",
        "other = ApplyGradientDescent(w0, scale, sum)\n    train = ApplyGradientDescent(w1,",
    )
    assert found(text, ["w0", "w1"]) == []
    alone = text.replace("AddN(tower_1/l2, tower_1/data)", "AddN(tower_1/data, tower_1/data)")
    ((_, _, description),) = found(alone, ["w0", "w1"])
    assert "1 variable (w0): terms in each tower's loss: 1, 0; averaged over 2 towers" in description


def test_penalties_that_are_repeated_in_each_tower_are_counted_in_terms():
    text = PENALTY.replace("AddN(tower_0/l2, tower_0/data)", "AddN(tower_0/l2, tower_0/more, tower_0/data)")
    text = text.replace("AddN(tower_1/l2,", "AddN(tower_1/l2, tower_1/more, tower_1/most,")
    more = "".join(f"{name} = L2Loss(w)\n" for name in ("tower_0/more", "tower_1/more", "tower_1/most"))
    ((name, _, description),) = found(more + text)
    assert name == "REGULARIZATION_ONCE" and "terms in each tower's loss: 2, 3; averaged over 2 towers" in description
    assert description.endswith("it counts 2.5 times, 1.25 times as often as in a tower with 2")


OF_SEVERAL = """
    u = VariableV2()
    tower_0/w_term = L2Loss(w)
    tower_0/l2_loss = Mul(tower_0/sum, scale)
    tower_0/sum = AddN({0})
    tower_1/w_term = L2Loss(w)
    tower_1/u_term = L2Loss(u)
    tower_1/l2_loss = Mul(tower_1/sum, scale)
    tower_1/sum = AddN({1})
    """


@pytest.mark.parametrize("first, expected", [("tower_0/w_term", 0), ("tower_0/data", 1)])
def test_sums_of_penalties_over_other_variables_are_counted_term_by_term(first, expected):
    """The second tower has a variable more than the first, and so a sum of other terms."""
    text = PENALTY.replace("/l2 = L2Loss(w)", "/l2 = Identity(tower_0/l2_loss)", 1)
    text = text.replace("/l2 = L2Loss(w)", "/l2 = Identity(tower_1/l2_loss)")
    more = OF_SEVERAL.format(first, "tower_1/w_term, tower_1/u_term")
    assert len(found(text + more)) == expected


def test_a_penalty_in_no_gradient():
    text = PENALTY.replace("L2Loss", "Square") + "my_regularizer = Mul(w, scale)\n"
    assert [entry[:2] for entry in found(text)] == [("REGULARIZATION_LOST", "my_regularizer")]


@pytest.mark.parametrize("user, count", [("Sqrt", 0), ("Square", 1)])
def test_a_term_that_ends_in_a_root_is_a_norm_also_behind_a_copy(user, count):
    more = f"my_regularizer = Mul(w, scale)\ncopy = Identity(my_regularizer)\nend = {user}(copy)\n"
    assert len(found(PENALTY.replace("L2Loss", "Square") + more)) == count


def test_a_product_without_variables_is_no_penalty():
    assert found(PENALTY.replace("L2Loss", "Square") + "my_regularizer = Mul(scale, scale)\n") == []


def test_one_loss_of_all_towers_contains_a_term_as_often_as_it_is_written():
    """The loss is the mean of the towers' losses, of which the first alone has a penalty."""
    text = PENALTY[: PENALTY.index("    tower_0/gradients")].replace(
        "AddN(tower_1/l2, tower_1/data)", "Neg(tower_1/data)"
    )
    text += """
    loss = AddN(tower_0/loss, tower_1/loss)
    gradients/grad_ys_0 = Const()
    gradients/loss_grad/Id = Identity(gradients/grad_ys_0)
    gradients/tower_0/l2_grad/mul = Mul(w, gradients/loss_grad/Id)
    gradients/tower_1/data_grad/mul = Mul(x1, gradients/loss_grad/Id)
    sum = AddN(gradients/tower_0/l2_grad/mul, gradients/tower_1/data_grad/mul)
    train = ApplyGradientDescent(w, scale, sum)
    """
    assert found(text) == []


@pytest.mark.parametrize(
    "more",
    [
        "norm = L2Loss(sum)\n",  # of gradients
        "norm = L2Loss(w)\nshown = ScalarSummary(norm)\n",  # to look at
        "norm = L2Loss(w)\nroot = Sqrt(norm)\nclipped = RealDiv(w, root)\n",  # to clip weights by
    ],
)
def test_norms_are_no_penalties(more):
    assert found(PENALTY.replace("L2Loss", "Square") + more) == []


def test_what_multiplies_some_gradients_counts_for_their_losses_as_for_their_penalties():
    combine = [
        Combine("w", "sum", "a:0", 1.0, []),
        Combine("v", "sum", "b:0", 1.0, []),
        Combine("last", "sum", "c:0", 10.0, []),
    ]
    analysis = types.SimpleNamespace(
        plan=types.SimpleNamespace(phases=[types.SimpleNamespace(combine=combine)]),
        context=types.SimpleNamespace(accumulators={}),
    )
    assert _combining_factor(analysis, "last", 2) == 1.0
    assert _combining_factor(analysis, "unknown", 2) is None
    rows = Combine("rows/Adam", "kept as written", "", 1.0, [["r0:0"], ["r1:0"]])
    analysis.plan.phases[0].combine = [*combine, rows]
    assert _combining_factor(analysis, "rows", 2) is None  # the others differ
    analysis.plan.phases[0].combine = [*[entry for entry in combine if entry.scale == combine[0].scale], rows]
    assert _combining_factor(analysis, "rows", 2) == _combining_factor(analysis, combine[0].weight, 2)
    rows.parts = [["r0:0"], []]
    assert _combining_factor(analysis, "rows", 2) is None  # of one tower alone
    assert _combining_factor(None, "w", 2) == 0.5


@pytest.mark.parametrize("terms, counts", [((2, 4), ["2, 4"]), ((2, 2), [])])
def test_a_term_is_counted_where_other_runs_add_the_gradients_up(terms, counts):
    """A collection of weights to which each tower adds holds those of the first tower twice in the second."""

    def build():
        w = v1.get_variable("w", initializer=[1.0, 2.0], use_resource=False)
        total = v1.get_variable("total", initializer=[0.0, 0.0], trainable=False, use_resource=False)
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], "x"), 2)
        gradients = []
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                penalty = tf.add_n([tf.nn.l2_loss(w) for _ in range(terms[tower])]) * 0.25
                gradients += tf.gradients(tf.reduce_sum(halves[tower] * w) + penalty, [w])
        v1.assign_add(total, tf.add_n(gradients) / 2.0, name="add")
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(total.value(), w)], name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    analysis = analyse_graph(graph, "small", ["add", "train"])
    hazards = [hazard.description for hazard in regularization(WholeGraph(graph, analysis), analysis)]
    assert [text.partition("each tower's loss: ")[2].partition(";")[0] for text in hazards] == counts


@pytest.mark.parametrize("apart, expected", [(True, []), (False, ["0, 1"])])
def test_a_term_counts_in_the_losses_that_train_its_variable(apart, expected):
    """Both losses of a GAN contain the penalties of both nets, and each trains one of them."""

    def build():
        w, v = (v1.get_variable(name, initializer=[1.0, 2.0], use_resource=False) for name in ("w", "v"))
        halves = tf.split(v1.placeholder(tf.float32, [4, 2], "x"), 2)
        found = {"w": [], "v": []}
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                penalties = 0.25 * (tf.nn.l2_loss(w) + tf.nn.l2_loss(v)) if apart or tower else 0.0
                scores = tf.reduce_mean(halves[tower] * w * v)
                found["w"] += tf.gradients(scores - 3.0 * tf.reduce_mean(halves[tower] * w) + penalties, [w])
                found["v"] += tf.gradients(-scores + penalties, [v])
        for variable, name in ((w, "w"), (v, "v")):
            mean = tf.add_n(found[name]) / 2.0
            v1.train.GradientDescentOptimizer(0.5).apply_gradients([(mean, variable)], name=f"train_{name}")

    graph = saved(traced(build), trainable_variables=["w", "v"])
    analysis = analyse_graph(graph, "small", ["train_w", "train_v"])
    hazards = [hazard.description for hazard in regularization(WholeGraph(graph, analysis), analysis)]
    assert [text.partition("each tower's loss: ")[2].partition(";")[0] for text in hazards] == expected


@pytest.mark.parametrize("later, expected", [(True, []), (False, ["REGULARIZATION_ONCE"])])
def test_a_penalty_whose_gradient_is_added_to_the_mean_counts_once(later, expected):
    """Wherever it is computed, here on the first tower's device."""
    graph = saved_penalty_beside_towers(later)
    analysis = analyse_graph(graph, "small", ["train"])
    whole = WholeGraph(graph, analysis)
    assert is_added_later(whole, "tower_0/l2") == later and not is_added_later(whole, "tower_0/data")
    assert [hazard.id for hazard in regularization(whole, analysis)] == expected


@pytest.mark.parametrize("in_each, count", [(False, 1), (True, 0)])
@pytest.mark.parametrize("is_fed", [False, True])
def test_a_penalty_whose_rate_is_fed_counts_as_one_with_a_constant(is_fed, in_each, count):
    def build():
        w = v1.get_variable("w", [3, 1], use_resource=False)
        rate, gradients = v1.placeholder(tf.float32, [], "rate") if is_fed else 0.25, []
        for tower in range(2):
            with tf.name_scope(f"tower_{tower}"), tf.device(f"/gpu:{tower}"):
                loss = tf.reduce_mean(tf.abs(v1.placeholder(tf.float32, [2, 3], "x") @ w))
                penalty = tf.multiply(rate, tf.nn.l2_loss(w), name="weight_decay")
                gradients.append(tf.gradients(loss + penalty if in_each or tower == 0 else loss, w)[0])
        v1.train.GradientDescentOptimizer(0.5).apply_gradients([(tf.reduce_mean(gradients, 0), w)], name="train")

    program = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(program, "small", ["train"])
    assert [hazard.id for hazard in regularization(WholeGraph(program, found), found)] == [
        "REGULARIZATION_ONCE"
    ] * count
