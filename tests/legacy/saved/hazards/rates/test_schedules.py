"""Hazards of learning-rate schedules, each with a program that does not have it."""

import numpy as np
import pytest
import tensorflow as tf

from legacy.saved.analysis.analyse import analyse_graph
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.rates.frozen_rates import frozen_learning_rate
from legacy.saved.hazards.rates.schedules import (
    miscounted_steps,
    steps_of_one_towers_examples,
    steps_that_are_not_saved,
)
from tests.legacy.saved.graphs import graph_of, saved, traced

v1 = tf.compat.v1

TEXT = """
    w = VariableV2()
    global_step = VariableV2()
    one = Const()
    two = Const()
    count = AssignAdd(global_step, one)
    step = Cast(global_step)
    scaled = Mul(step, one)
    ExponentialDecay/Pow = Pow(two, scaled)
    tower_0/y = Neg(w)
    gradients/tower_0/y_grad/Neg = Neg(tower_0/y)
    tower_1/y = Neg(w)
    gradients/tower_1/y_grad/Neg = Neg(tower_1/y)
    sum = AddN(gradients/tower_0/y_grad/Neg, gradients/tower_1/y_grad/Neg)
    train = ApplyGradientDescent(w, ExponentialDecay/Pow, sum)
    """


def hazards(check, text, attributes=None):
    numbers = [("one", 1), ("two", 2), *([("eight", 8)] if "eight" in text else [])]
    constants = {name: {"value": np.array(value, np.float32)} for name, value in numbers}
    whole = WholeGraph(saved(graph_of(text, **constants, **attributes or {}), trainable_variables=["w"]))
    return [hazard[:3] for hazard in check(whole)]


@pytest.mark.parametrize("check", [miscounted_steps, frozen_learning_rate])
def test_a_correct_schedule_has_none(check):
    assert hazards(check, TEXT) == []


def test_a_step_that_each_tower_counts():
    text = TEXT.replace("count = AssignAdd(global_step, one)", "tower_0/count = AssignAdd(global_step, one)")
    found = hazards(miscounted_steps, text + "tower_1/count = AssignAdd(global_step, one)\n")
    assert found == [("STEP_COUNTS_TOWERS", "tower_0/count", "global_step is incremented by each of the 2 towers")]
    assert hazards(miscounted_steps, text + "count = AssignAdd(global_step, one)\n") == [], "not of each tower"


def test_a_step_that_rises_by_the_number_of_towers():
    found = hazards(miscounted_steps, TEXT.replace("AssignAdd(global_step, one)", "AssignAdd(global_step, two)"))
    assert found == [("STEP_COUNTS_TOWERS", "count", "global_step rises by 2 in a step")]


def test_a_step_that_rises_by_the_number_of_a_batchs_examples_counts_no_towers():
    text = TEXT.replace("AssignAdd(global_step, one)", "AssignAdd(global_step, eight)") + "eight = Const()\n"
    found = hazards(miscounted_steps, text)
    assert found == [("STEP_NOT_BY_ONE", "count", "global_step rises by 8 in a step")]


def test_a_step_that_each_of_several_train_ops_counts_is_counted_once_in_a_run():
    """As where one train op trains each layer, and the program runs one of them in each step."""
    first = TEXT.replace("count = AssignAdd(global_step, one)", "count = AssignAdd(global_step, one, ^train)")
    second = """
        train_2 = ApplyGradientDescent(w, ExponentialDecay/Pow, sum)
        count_2 = AssignAdd(global_step, one, ^train_2)
        """
    assert hazards(miscounted_steps, first + second) == []
    found = hazards(miscounted_steps, first + second + "both = NoOp(^count, ^count_2)\n")
    assert [name for name, _, _ in found] == ["STEP_COUNTED_TWICE"]


@pytest.mark.parametrize(
    "updated, is_joined, count", [(("u", "u"), False, 0), (("u", "v"), False, 1), (("u", "u"), True, 1)]
)
def test_a_step_that_each_of_several_train_ops_for_the_same_variables_counts_is_counted_once(updated, is_joined, count):
    """As of a translator that has a train op for each length of sentences, and runs one of them in a step."""

    def build():
        variables = {name: v1.get_variable(name, [3, 1], use_resource=False) for name in ("u", "v")}
        step = v1.train.get_or_create_global_step()
        descent = v1.train.GradientDescentOptimizer(v1.train.exponential_decay(0.5, step, 10, 0.5))
        for number, name in enumerate(updated):
            loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [4, 3], f"x{number}") @ variables[name]))
            descent.minimize(loss, step, [variables[name]], name=f"train_{number}")
        if is_joined:
            graph = v1.get_default_graph()
            tf.group(*(graph.get_operation_by_name(f"train_{number}") for number in range(2)), name="train")

    graph = saved(traced(build), trainable_variables=["u", "v"])
    whole = WholeGraph(graph, None if is_joined else analyse_graph(graph, "small", ["train_0", "train_1"]))
    assert [hazard.id for hazard in miscounted_steps(whole)] == ["STEP_COUNTED_TWICE"] * count


def test_a_counter_of_any_name_that_several_optimizers_count():
    text = (
        TEXT.replace("global_step", "Variable")
        + "count_1 = AssignAdd(Variable, one)\nall = NoOp(^train, ^count, ^count_1)\n"
    )
    found = hazards(miscounted_steps, text)
    assert found == [("STEP_COUNTED_TWICE", "count", "Variable is incremented by 2 ops: count, count_1")]
    behind = text.replace("(Variable, one)", "(Variable, one, ^train)")
    assert hazards(miscounted_steps, behind) == found, "both wait for one optimizer"
    second = "train_2 = ApplyGradientDescent(w, ExponentialDecay/Pow, sum)\n"
    each = behind.replace("count_1 = AssignAdd(Variable, one, ^train)", "count_1 = AssignAdd(Variable, one, ^train_2)")
    expected = "Variable is incremented by 2 ops, of each optimizer and not of each tower: count, count_1"
    assert hazards(miscounted_steps, each + second) == [("STEP_COUNTED_TWICE", "count", expected)]
    assert hazards(miscounted_steps, text.replace("count_1 = AssignAdd(Variable, one)", "count_1 = Neg(one)")) == []
    examples = text.replace("AssignAdd(Variable, one)", "AssignAdd(Variable, two)")
    assert hazards(miscounted_steps, examples) == [], "it counts something else"
    unread = text.replace("step = Cast(Variable)", "step = Cast(two)")
    assert hazards(miscounted_steps, unread) == [], "no update depends on it"


def test_a_schedule_of_the_step_times_the_towers():
    text = TEXT.replace("Mul(step, one)", "Mul(step, two)")
    found = hazards(miscounted_steps, text)
    assert [(name, op) for name, op, _ in found] == [("SCHEDULE_COUNTS_TOWERS", "scaled")]
    not_used = text.replace("ApplyGradientDescent(w, ExponentialDecay/Pow, sum)", "ApplyGradientDescent(w, one, sum)")
    assert hazards(miscounted_steps, not_used) == [], "no update depends on the product"
    not_the_step = text.replace("Mul(step, two)", "Mul(shifted, two)") + "shifted = Neg(step)\n"
    assert hazards(miscounted_steps, not_the_step) == []


def test_a_step_times_two_outside_of_the_learning_rate_is_no_schedule():
    """As in the bounds of batch renormalization, which widen by the step."""
    text = TEXT.replace("Neg(w)", "Mul(w, doubled)").replace(
        "scaled = Mul(step, one)", "scaled = Mul(step, one)\n    doubled = Mul(step, two)"
    )
    assert hazards(miscounted_steps, text) == []


def test_a_step_times_the_towers_times_their_examples_counts_examples():
    text = TEXT.replace("Mul(step, one)", "Mul(step, two)")
    examples = text.replace("Pow(two, scaled)", "Pow(two, examples)") + "examples = Mul(scaled, {})\n"
    assert hazards(miscounted_steps, examples.format("two")) == []
    found = hazards(miscounted_steps, examples.format("one"))
    assert [name for name, _, _ in found] == ["SCHEDULE_COUNTS_TOWERS"]


@pytest.mark.parametrize("bound, expected", [("two", []), ("one", ["SCHEDULE_COUNTS_TOWERS"])])
def test_a_step_divided_by_the_length_of_its_warm_up(bound, expected):
    """The step is compared with that length, here as many steps as there are towers."""
    text = TEXT.replace("Mul(step, one)", "RealDiv(step, two)").replace(
        "Pow(two, scaled)", "Select(early, scaled, one)"
    )
    found = hazards(miscounted_steps, text + f"early = Less(step, {bound})\n")
    assert [name for name, _, _ in found] == expected


@pytest.mark.parametrize(
    "exponent, line, expected",
    [
        ("scaled", "", []),
        ("rounded", "rounded = Floor(scaled)\n", []),
        ("periods", "periods = RealDiv(scaled, one)\n", ["SCHEDULE_COUNTS_TOWERS"]),  # of which it divides the step
    ],
)
def test_a_decay_of_as_many_steps_as_there_are_towers(exponent, line, expected):
    text = TEXT.replace("Mul(step, one)", "RealDiv(step, two)").replace("Pow(two, scaled)", f"Pow(two, {exponent})")
    assert [name for name, _, _ in hazards(miscounted_steps, text + line)] == expected


def test_a_schedule_that_no_update_depends_on():
    text = TEXT.replace("ApplyGradientDescent(w, ExponentialDecay/Pow, sum)", "ApplyGradientDescent(w, one, sum)")
    (found,) = hazards(frozen_learning_rate, text)
    assert found[:2] == ("LEARNING_RATE_FROZEN", "ExponentialDecay/Pow")
    assert found[2] == "the schedule ExponentialDecay is computed and no update depends on it"
    assert hazards(frozen_learning_rate, text.replace("ApplyGradientDescent", "Nothing")) == [], "nothing trains"


@pytest.mark.parametrize("name, is_rate", [("lr", True), ("m/learning_rate", True), ("lr_ph", True), ("mlr", False)])
def test_a_fed_rate_that_no_update_depends_on(name, is_rate):
    scalar = {name: {"dtype": tf.float32, "shape": tf.TensorShape([])}}
    found = hazards(frozen_learning_rate, TEXT + f"{name} = Placeholder()\n", scalar)
    expected = ("LEARNING_RATE_FROZEN", name, f"the fed learning rate {name} changes nothing: no update depends on it")
    assert found == ([expected] if is_rate else [])
    assigned = TEXT + f"{name} = Placeholder()\nrate = VariableV2()\nchange = Assign(rate, {name})\n"
    assert hazards(frozen_learning_rate, assigned, scalar) == [], "another run assigns it"


@pytest.mark.parametrize(
    "name, line, is_named",
    [
        ("learning_rate/Variable", "", True),
        ("lr", "", True),
        ("lr", "shown = ScalarSummary(one, lr)\n", False),
        ("lr", "other = ApplyGradientDescent(w, lr, sum)\n", False),
        ("lr", "fed = Placeholder()\nother = ApplyGradientDescent(w, fed, sum)\n", False),
        ("level", "", False),
    ],
)
def test_a_rate_that_the_program_sets_and_no_op_reads(name, line, is_named):
    """As where `tf.assign` lowers a variable between epochs, and the optimizer was given the number it began with."""
    scalar = {name: {"dtype": tf.float32, "shape": tf.TensorShape([])}}
    text = TEXT + f"{name} = VariableV2()\nread = Identity({name})\nlower = Assign({name}, one)\n" + line
    found = [hazard for hazard in hazards(frozen_learning_rate, text, scalar) if hazard[1] == name]
    said = f"the program sets the learning rate {name}, and no op reads it: no update depends on it"
    assert found == ([("LEARNING_RATE_FROZEN", name, said)] if is_named else [])


@pytest.mark.parametrize("rate, users, count", [("lr", "shown", 0), ("one", "shown", 1), ("lr", "", 1)])
def test_a_fed_rate_for_a_summary_beside_the_optimizers_is_reported(rate, users, count):
    """As where a loop feeds the rate of an epoch to a scalar summary; without a summary, it is forgotten."""
    names = {name: {"dtype": tf.float32, "shape": tf.TensorShape([])} for name in ("lr", "learning_rate_1")}
    text = "lr = Placeholder()\nlearning_rate_1 = Placeholder()\n" + TEXT.replace(
        "ExponentialDecay/Pow, sum", f"{rate}, sum"
    )
    text = text.replace("ExponentialDecay/Pow", "unused")
    text += "shown = ScalarSummary(one, learning_rate_1)\n" if users else ""
    found = hazards(frozen_learning_rate, text, names)
    assert [name for name, _, _ in found] == ["LEARNING_RATE_FROZEN"] * count


def test_a_schedule_that_other_ops_take_is_no_learning_rate():
    """As the share of random actions, which falls with the step."""
    text = TEXT.replace("ApplyGradientDescent(w, ExponentialDecay/Pow, sum)", "ApplyGradientDescent(w, one, sum)")
    assert hazards(frozen_learning_rate, text + "explores = Less(one, ExponentialDecay/Pow)\n") == []
    warm = text + "warm = Mul(one, ExponentialDecay/Pow)\nrate = SelectV2(tower_0/y, warm, ExponentialDecay/Pow)\n"
    assert [name for name, _, _ in hazards(frozen_learning_rate, warm)] == ["LEARNING_RATE_FROZEN"], "a warm-up"
    shown = text + "shown = ScalarSummary(one, ExponentialDecay/Pow)\n"
    assert [name for name, _, _ in hazards(frozen_learning_rate, shown)] == ["LEARNING_RATE_FROZEN"]


#: The schedule of a penalty beside one that would be the learning rate.
OF_A_PENALTY = TEXT.replace("tower_0/y = Neg(w)", "tower_0/y = Mul(w, PolynomialDecay/Pow)").replace(
    "tower_0/y =", "PolynomialDecay/Pow = Pow(one, scaled)\n    tower_0/y ="
)


def test_a_schedule_that_nothing_takes_beside_one_of_a_penalty():
    """The other schedule is no learning rate, and the optimizer has a constant."""
    assert hazards(frozen_learning_rate, OF_A_PENALTY) == []
    text = OF_A_PENALTY.replace("(w, ExponentialDecay/Pow, sum)", "(w, one, sum)")
    (found,) = hazards(frozen_learning_rate, text + "lr = ScalarSummary(one, ExponentialDecay/Pow)\n")
    assert found[2] == "the schedule ExponentialDecay is computed and no update depends on it"
    taken = text + "decision = Less(ExponentialDecay/Pow, two)\n"
    assert hazards(frozen_learning_rate, taken) == [], "it may be one of exploration"
    other = OF_A_PENALTY.replace("(w, ExponentialDecay/Pow, sum)", "(w, PolynomialDecay/Pow, sum)")
    assert hazards(frozen_learning_rate, other) == [], "the optimizer has a schedule"


def test_a_frozen_schedule_of_a_penalty_is_none_of_a_learning_rate():
    text = OF_A_PENALTY.replace("(w, ExponentialDecay/Pow, sum)", "(w, one, sum)")
    text = text.replace("AddN(gradients", "AddN(PolynomialDecay/Pow, gradients")  # the gradient takes the weight
    text = text.replace("    ExponentialDecay/Pow = Pow(two, scaled)\n", "")
    assert hazards(frozen_learning_rate, text) == []
    (found,) = hazards(frozen_learning_rate, text.replace("count = AssignAdd(global_step, one)", ""))
    assert found[0] == "SCHEDULE_FROZEN"
    said = "the schedule PolynomialDecay, of no learning rate, depends on global_step, which nothing advances"
    assert found[2] == said
    both = OF_A_PENALTY.replace("count = AssignAdd(global_step, one)", "")
    assert {name for name, _, _ in hazards(frozen_learning_rate, both)} == {"LEARNING_RATE_FROZEN", "SCHEDULE_FROZEN"}


@pytest.mark.parametrize(
    "assignment, is_frozen", [("advance", False), ("global_step/Assign", True), ("save/Assign", True)]
)
def test_a_schedule_of_a_step_that_nothing_advances(assignment, is_frozen):
    value = "save/RestoreV2 = RestoreV2()\nsave/Assign = Assign(global_step, save/RestoreV2)\n"
    new = value if assignment == "save/Assign" else f"{assignment} = Assign(global_step, one)"
    text = TEXT.replace("count = AssignAdd(global_step, one)", new)
    found = hazards(frozen_learning_rate, text)
    assert bool(found) == is_frozen
    if is_frozen:
        assert found[0][1:] == (
            "global_step",
            "the schedule ExponentialDecay depends on global_step, which nothing advances",
        )


BY_HAND = TEXT.replace("ExponentialDecay/Pow", "rate").replace("global_step", "updates")
WHOLE = {"updates": {"dtype": tf.int32, "shape": tf.TensorShape([])}}


def hazards_by_hand(check, text):
    numbers = [("one", 1), ("two", 2), *([("eight", 8)] if "eight" in text else [])]
    constants = {name: {"value": np.array(value, np.float32)} for name, value in numbers}
    whole = WholeGraph(saved(graph_of(text, **constants, **WHOLE), trainable_variables=["w"]))
    return [hazard[:3] for hazard in check(whole)]


def test_a_counter_of_another_name_that_each_tower_raises():
    assert hazards_by_hand(miscounted_steps, BY_HAND) == []
    text = BY_HAND.replace("count = AssignAdd(updates, one)", "tower_0/count = AssignAdd(updates, one)")
    found = hazards_by_hand(miscounted_steps, text + "tower_1/count = AssignAdd(updates, one)\n")
    assert found == [("STEP_COUNTS_TOWERS", "tower_0/count", "updates is incremented by each of the 2 towers")]
    seen = text.replace("(updates, one)", "(updates, two)") + "tower_1/count = AssignAdd(updates, two)\n"
    assert hazards_by_hand(miscounted_steps, seen) == [], "examples, perhaps, and no steps"


#: Each tower moves a statistic that is divided by 1 - decay^n, as `assign_moving_average` does, and counts n.
DEBIASED = (
    TEXT.replace("tower_0/y = Neg(w)", "tower_0/y = Sub(w, moving)")
    + """
    moving = VariableV2()
    seen = VariableV2()
    x = Placeholder()
    tower_0/count = AssignAdd(seen, one)
    tower_0/power = Pow(two, seen)
    tower_0/moved = RealDiv(x, tower_0/power)
    tower_0/move = Assign(moving, tower_0/moved)
    tower_1/count = AssignAdd(seen, one)
    tower_1/power = Pow(two, seen)
    tower_1/moved = RealDiv(x, tower_1/power)
    tower_1/move = Assign(moving, tower_1/moved)
    all = NoOp(^train, ^tower_0/count, ^tower_1/count, ^tower_0/move, ^tower_1/move)
    """
)


def test_a_counter_by_which_one_statistic_corrects_its_start_is_no_step():
    assert hazards(miscounted_steps, DEBIASED) == []
    of_a_rate = DEBIASED.replace("step = Cast(global_step)", "step = Cast(seen)")
    found = hazards(miscounted_steps, of_a_rate)
    assert found == [("STEP_COUNTS_TOWERS", "tower_0/count", "seen is incremented by each of the 2 towers")]


@pytest.mark.parametrize("is_moved, count", [(True, 0), (False, 1)])
def test_a_counter_by_which_a_mean_in_a_variable_is_corrected_is_no_step(is_moved, count):
    """As of `assign_moving_average` up to TensorFlow 1.14, which keeps the mean before its correction in `biased`."""
    text = DEBIASED + "    biased = VariableV2()\n"
    for tower in ("tower_0", "tower_1"):
        text = text.replace(f"RealDiv(x, {tower}/power)", f"RealDiv({tower}/mean, {tower}/power)")
        text += f"    {tower}/mean = Identity(biased, ^{tower}/add)\n"
        text += f"    {tower}/add = AssignSub(biased, {'x' if is_moved else 'two'})\n"
    assert len(hazards(miscounted_steps, text)) == count


def test_a_learning_rate_by_hand_of_a_step_that_nothing_advances():
    assert hazards_by_hand(frozen_learning_rate, BY_HAND) == []
    text = BY_HAND.replace("count = AssignAdd(updates, one)\n", "")
    assert hazards_by_hand(frozen_learning_rate, text) == [
        ("LEARNING_RATE_FROZEN", "updates", "the learning rate rate depends on updates, which nothing advances")
    ]
    not_used = text.replace("ApplyGradientDescent(w, rate, sum)", "ApplyGradientDescent(w, one, sum)")
    assert hazards_by_hand(frozen_learning_rate, not_used) == []


@pytest.mark.parametrize("number, count", [(4, 1), (8, 0), (3, 0)])
def test_a_schedule_that_counts_one_towers_examples_is_named(number, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        step = v1.get_variable("step", [], tf.int64, v1.zeros_initializer(), trainable=False, use_resource=False)
        rate = v1.train.exponential_decay(0.5, step * number, 100, 0.5)
        gradients = []
        for tower, x in enumerate(tf.split(v1.placeholder(tf.float32, [8, 4], "x"), 2)):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
                gradients.append(tf.gradients(tf.reduce_mean(tf.square(x @ w)), [w])[0])
        optimizer = v1.train.GradientDescentOptimizer(rate)
        optimizer.apply_gradients([(tf.add_n(gradients) / 2.0, w)], step, name="train")

    graph = saved(traced(build), trainable_variables=["w"])
    found = analyse_graph(graph, "small")
    names = [hazard.id for hazard in steps_of_one_towers_examples(WholeGraph(graph, found), found)]
    assert names == ["SCHEDULE_COUNTS_ONE_TOWER"] * count


@pytest.mark.parametrize("kept, count", [(("w",), 1), (("w", "step"), 0), ((), 0)])
def test_a_step_that_no_saver_saves_is_named(kept, count):
    def build():
        w = v1.get_variable("w", [4, 3], use_resource=False)
        step = v1.get_variable("step", [], tf.int64, v1.zeros_initializer(), trainable=False, use_resource=False)
        loss = tf.reduce_mean(tf.square(v1.placeholder(tf.float32, [8, 4], "x") @ w))
        optimizer = v1.train.GradientDescentOptimizer(v1.train.exponential_decay(0.5, step, 100, 0.5))
        optimizer.minimize(loss, step, [w], name="train")
        if kept:
            v1.train.Saver([{"w": w, "step": step}[name] for name in kept])

    graph = saved(traced(build), trainable_variables=["w"])
    hazards = list(steps_that_are_not_saved(WholeGraph(graph, analyse_graph(graph, "small", ["train"]))))
    assert [hazard.id for hazard in hazards] == ["STEP_NOT_SAVED"] * count
