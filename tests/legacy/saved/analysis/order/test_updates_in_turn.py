"""Orders of two updates of one variable: races between them, towers that take turns, averages of two towers."""

import pytest

from legacy.saved.analysis.order.race_choices import AS_MEANT
from tests.legacy.saved.analysis.order.ordered import EARLY, REVERSED, ordered
from workloads.lifted.plan import Race

TWO_UPDATES = """
    v = VariableV2()
    one = Const()
    first = AssignAdd(v, one)
    second = AssignAdd(v, one)
    """


def test_unordered_updates_are_a_race_and_reversed_updates_take_the_other_order():
    late, reverse = [
        ordered(TWO_UPDATES, {}, {"first": ["v"], "second": ["v"]}, choices=choices) for choices in (AS_MEANT, REVERSED)
    ]
    assert sorted(late.effects) == ["first", "second"]
    assert late.dependencies == [tuple(late.effects)]
    assert late.races == [Race("v", *late.effects)]
    assert reverse.effects == late.effects[::-1]
    assert reverse.dependencies == [tuple(reverse.effects)]


def test_updates_that_the_graph_orders_are_not_reversed():
    text = TWO_UPDATES.replace("second = AssignAdd(v, one)", "second = AssignAdd(v, one, ^first)")
    order = ordered(text, {}, {"first": ["v"], "second": ["v"]}, choices=REVERSED)
    assert order == (["first", "second"], {}, [], [])


TURNS = """
    s = VariableV2()
    x0 = Placeholder()
    x1 = Placeholder()
    delta0 = Sub(s, x0)
    delta1 = Sub(s, x1)
    update0 = AssignSub(s, delta0)
    update1 = AssignSub(s, delta1)
    """
TURN_READS = {"delta0": ["s"], "delta1": ["s"]}
TURN_WRITES = {"update0": ["s"], "update1": ["s"]}


def test_towers_that_update_one_statistic_take_turns():
    order = ordered(TURNS, TURN_READS, TURN_WRITES, on_data=["delta0", "delta1"])
    first, second = order.effects
    assert order.versions == {(f"delta{first[-1]}", "s"): 0, (f"delta{second[-1]}", "s"): 1}
    assert set(order.dependencies) == {(first, second), (first, f"delta{second[-1]}")}


def dragged_along(order, other):
    """Control dependencies that would make another train op run an update that it does not run."""
    edges = [edge for edge in order.dependencies if edge.before in order.effects]
    return [edge for edge in edges if edge.after in other and edge.before not in other]


@pytest.mark.parametrize("choices", [AS_MEANT, EARLY, REVERSED])
def test_what_another_train_op_runs_too_does_not_wait_for_what_it_does_not_run(choices):
    """A discriminator's step normalizes real and made images, the generator's only made ones."""
    made = ordered(TURNS, TURN_READS, TURN_WRITES, on_data=["delta0", "delta1"], choices=choices).effects[1]
    other = {"s", f"x{made[-1]}", f"delta{made[-1]}", made}
    alone, shared = [
        ordered(TURNS, TURN_READS, TURN_WRITES, on_data=["delta0", "delta1"], choices=choices, others=others)
        for others in ([], [other])
    ]
    assert dragged_along(alone, other)
    assert not dragged_along(shared, other)
    assert shared.effects == alone.effects[::-1]


AVERAGE = """
    w = VariableV2()
    gradient = Placeholder()
    train = ApplyGradientDescent(w, gradient)
    shadow = VariableV2()
    newer = Sub(w)
    average = AssignSub(shadow, newer)
    """


def test_an_average_that_another_train_op_runs_without_the_update_is_taken_before_it():
    used = {"reads": {"newer": ["w"]}, "writes": {"train": ["w"], "average": ["shadow"]}, "rules": ["train"]}
    for others, version in [([], 1), ([{"w", "newer", "average"}], 0), ([{"w", "train", "newer", "average"}], 1)]:
        assert ordered(AVERAGE, others=others, **used).versions["newer", "w"] == version


def test_towers_that_train_one_weight_do_not_take_turns():
    order = ordered(TURNS, TURN_READS, TURN_WRITES, rules=["update0", "update1"], on_data=["delta0", "delta1"])
    first, second = order.effects
    assert order.versions == {("delta0", "s"): 0, ("delta1", "s"): 0}
    assert set(order.dependencies) == {(first, second), (f"delta{second[-1]}", first)}


def test_an_order_that_is_chosen_for_one_variable_holds_for_the_others():
    """Of v the two updates are reversed; a third update of w, behind the first, leaves no other order there."""
    text = TWO_UPDATES.replace("v = VariableV2()", "v = VariableV2()\nw = VariableV2()")
    writes = {"first": ["v", "w"], "second": ["v", "w"], "third": ["w"]}
    order = ordered(text + "third = AssignAdd(w, one, ^first)", {}, writes, choices=REVERSED)
    assert order.effects == ["second", "first", "third"]
    assert set(order.dependencies) == {("second", "first")}
    assert any(race.variable == "w" and race.reader is None for race in order.races)


def test_two_towers_that_correct_the_bias_of_one_average_take_turns():
    """Each adds to a sum, and then sets the mean from it: the order of the sums is that of the means."""
    text = """
        sum = VariableV2()
        mean = VariableV2()
        add_1 = AssignAdd(sum, one)
        one = Const()
        read_1 = Neg(sum, ^add_1)
        set_1 = Assign(mean, read_1)
        add_0 = AssignAdd(sum, one)
        read_0 = Neg(sum, ^add_0)
        set_0 = Assign(mean, read_0, ^slow)
        slow = NoOp()
        """
    writes = {"add_0": ["sum"], "set_0": ["mean"], "add_1": ["sum"], "set_1": ["mean"]}
    reads = {"read_0": ["sum"], "read_1": ["sum"]}
    for choices in (AS_MEANT, EARLY, REVERSED):
        order = ordered(text, reads, writes, choices=choices)
        assert order.effects.index("add_0") < order.effects.index("set_0")
        assert order.versions["read_0", "sum"] and order.versions["read_1", "sum"]


def test_a_statistic_that_gradients_depend_on_is_read_before_another_tower_moves_it():
    text = """
        s = VariableV2()
        move0 = AssignSub(s)
        corrected1 = Sub(s)
        move1 = AssignSub(s, corrected1)
        w = VariableV2()
        train = ApplyGradientDescent(w, {gradient})
        """
    used = {"reads": {"corrected1": ["s"]}, "writes": {"move0": ["s"], "move1": ["s"], "train": ["w"]}}
    computed = ordered(text.format(gradient="corrected1"), rules=["train"], **used)
    assert computed.versions["corrected1", "s"] == 0
    in_turn = ordered(text.format(gradient="w"), rules=["train"], **used)
    assert in_turn.versions["corrected1", "s"] == 1


DECAY = """
    step = VariableV2()
    one = Const()
    decay = Add(step, one)
    mean = VariableV2()
    move = AssignSub(mean, decay)
    w = VariableV2()
    gradient = Mul(w, one, ^move)
    train = ApplyGradientDescent(w, gradient)
    count0 = AssignAdd(step, one)
    count1 = AssignAdd(step, {addend}, ^train)
    """


def test_a_read_that_a_later_update_only_waits_for_sees_the_first_value():
    """A decay is computed from the step counter, and two optimizers count, one of them behind what decays."""
    used = {"reads": {"decay": ["step"], "gradient": ["w"]}, "rules": ["train"]}
    writes = {"move": ["mean"], "train": ["w"], "count0": ["step"], "count1": ["step"]}
    for addend, version in [("one", 0), ("decay", 1)]:
        order = ordered(DECAY.format(addend=addend), writes=writes, **used)
        assert order.effects.index("count0") < order.effects.index("count1")
        assert order.versions["decay", "step"] == version


SHIFTED = """
    x = Placeholder()
    mean = VariableV2()
    shifted0 = Sub(x, mean)
    move0 = AssignSub(mean, shifted0)
    shifted1 = Sub(x, mean)
    move1 = AssignSub(mean, shifted1)
    next = VariableV2()
    move = AssignSub(next, {of_next})
    """


def test_a_read_of_the_data_that_other_statistics_are_computed_from_sees_the_first_value():
    """A layer that a step runs twice, whose moments are shifted by the moving mean, with another layer behind it."""
    used = {"reads": {"shifted0": ["mean"], "shifted1": ["mean"]}, "on_data": ["shifted0", "shifted1"]}
    writes = {"move0": ["mean"], "move1": ["mean"], "move": ["next"]}
    for of_next, version in [("x", 1), ("shifted1", 0)]:
        order = ordered(SHIFTED.format(of_next=of_next), writes=writes, **used)
        assert order.versions["shifted1", "mean"] == version


def test_an_update_that_reads_its_variable_sees_the_updates_before_it():
    text = TWO_UPDATES.replace("second = AssignAdd(v, one)", "second = AssignAdd(v, one, ^first)")
    writes = {"first": ["v"], "second": ["v"]}
    assert ordered(text, {name: ["v"] for name in writes}, writes).versions == {("first", "v"): 0, ("second", "v"): 1}


def test_the_gradient_of_a_penalty_sees_the_weight_before_another_update_of_it():
    """As of weights that an optimizer decays besides: the gradient depends on no data."""
    text = """
        w = VariableV2()
        one = Const()
        {name} = Mul(w, one)
        decay = AssignSub(w, one)
        train = ApplyGradientDescent(w, one, {name}, ^decay_is_done)
        decay_is_done = NoOp(^decay)
        """
    writes = {"decay": ["w"], "train": ["w"]}
    for name, rules, version in [
        ("gradients/L2Loss_grad/mul", ["train"], 0),
        ("by_hand", ["train"], 0),
        ("turn", [], 1),
    ]:
        order = ordered(text.format(name=name), {name: ["w"]}, writes, rules)
        assert order.versions[name, "w"] == version


def test_updates_that_nothing_orders_run_as_the_program_made_them():
    order = ordered(
        """
        v = VariableV2()
        deep = Const()
        deeper = Neg(deep)
        first = AssignAdd(v, deeper)
        second = AssignSub(v, deep)
        """,
        reads={},
        writes={"first": ["v"], "second": ["v"]},
    )
    assert order.effects == ["first", "second"] and order.dependencies == [("first", "second")]
