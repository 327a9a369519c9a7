"""Orders of reads and updates, on graphs of a few nodes whose races are counted by hand."""

import types

import pytest

from legacy.saved.analysis.order.ordering import order_step
from tests.legacy.saved.graphs import graph_of
from workloads.lifted.plan import Race


def ordered(text, reads, writes, rules=(), on_data=(), variant="late"):
    """The `Order` of a graph that runs all its nodes."""
    graph = graph_of(text)
    variables = dict.fromkeys(variable for used in (reads, writes) for names in used.values() for variable in names)
    state = types.SimpleNamespace(variables=variables, reads=reads, writes=writes, rules=set(rules))
    return order_step(graph, state, set(graph.nodes), set(on_data), variant)


def test_a_read_that_the_update_needs_comes_before_it():
    order = ordered(
        """
        v = VariableV2()
        new = Neg(v)
        update = Assign(v, new)
        """,
        reads={"new": ["v"]},
        writes={"update": ["v"]},
    )
    assert order == (["update"], {("new", "v"): 0}, [], [])


def test_a_read_behind_a_control_dependency_comes_after_the_update():
    order = ordered(
        """
        v = VariableV2()
        update = AssignAdd(v, one)
        one = Const()
        read = Neg(v, ^update)
        """,
        reads={"read": ["v"]},
        writes={"update": ["v"]},
    )
    assert order == (["update"], {("read", "v"): 1}, [], [])


def test_a_racing_read_comes_before_the_update_by_an_added_dependency():
    order = ordered(
        """
        v = VariableV2()
        one = Const()
        update = AssignAdd(v, one)
        read = Neg(v)
        """,
        reads={"read": ["v"]},
        writes={"update": ["v"]},
    )
    assert order.versions == {("read", "v"): 0}
    assert order.dependencies == [("read", "update")]
    assert order.races == [Race("v", "read", "update", reader="read")]


def test_a_handle_that_is_handed_on_is_no_race_but_still_ordered():
    order = ordered(
        """
        v = VarHandleOp()
        update = AssignAddVariableOp(v, one)
        one = Const()
        read = Identity(v)
        """,
        reads={"read": ["v"]},
        writes={"update": ["v"]},
    )
    assert (order.dependencies, order.races) == ([("read", "update")], [])


TWO_UPDATES = """
    v = VariableV2()
    one = Const()
    first = AssignAdd(v, one)
    second = AssignAdd(v, one)
    """


def test_unordered_updates_are_a_race_and_the_reversed_variant_takes_the_other_order():
    late, reverse = [
        ordered(TWO_UPDATES, {}, {"first": ["v"], "second": ["v"]}, variant=variant) for variant in ("late", "reversed")
    ]
    assert sorted(late.effects) == ["first", "second"]
    assert late.dependencies == [tuple(late.effects)]
    assert late.races == [Race("v", *late.effects)]
    assert reverse.effects == late.effects[::-1]
    assert reverse.dependencies == [tuple(reverse.effects)]


def test_updates_that_the_graph_orders_are_not_reversed():
    text = TWO_UPDATES.replace("second = AssignAdd(v, one)", "second = AssignAdd(v, one, ^first)")
    order = ordered(text, {}, {"first": ["v"], "second": ["v"]}, variant="reversed")
    assert order == (["first", "second"], {}, [], [])


AVERAGE = """
    w = VariableV2()
    ema = VariableV2()
    g = Const()
    train = ApplyGradientDescent(w, g, g)
    change = Sub(ema, w)
    average = AssignSub(ema, change)
    """
AVERAGE_READS = {"change": ["ema", "w"]}
AVERAGE_WRITES = {"train": ["w"], "average": ["ema"]}


def test_a_moving_average_that_races_with_the_update_rule_reads_the_new_weight():
    order = ordered(AVERAGE, AVERAGE_READS, AVERAGE_WRITES, rules=["train"])
    assert order.versions == {("change", "ema"): 0, ("change", "w"): 1}
    assert order.dependencies == [("train", "change")]
    assert order.races == [Race("w", "train", "change", reader="change")]


@pytest.mark.parametrize(
    "options",
    [
        {"rules": ["train"], "variant": "early"},
        {"rules": ["train"], "on_data": ["change"]},  # the model itself reads the old weight
        {"rules": []},  # the update trains nothing
        {"rules": ["train", "average"]},  # the read leads to an update rule
    ],
)
def test_other_reads_that_race_with_an_update_read_the_old_value(options):
    order = ordered(AVERAGE, AVERAGE_READS, AVERAGE_WRITES, **options)
    assert order.versions["change", "w"] == 0
    assert order.dependencies == [("change", "train")]


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


def test_towers_that_train_one_weight_do_not_take_turns():
    order = ordered(TURNS, TURN_READS, TURN_WRITES, rules=["update0", "update1"], on_data=["delta0", "delta1"])
    first, second = order.effects
    assert order.versions == {("delta0", "s"): 0, ("delta1", "s"): 0}
    assert set(order.dependencies) == {(first, second), (f"delta{second[-1]}", first)}


def test_an_update_waits_for_the_loop_that_its_variable_enters():
    order = ordered(
        """
        v = VariableV2()
        one = Const()
        update = AssignAdd(v, one)
        enter = Enter(v)
        body = Neg(enter)
        exit = Exit(body)
        """,
        reads={"enter": ["v"]},
        writes={"update": ["v"]},
    )
    assert order.versions == {("enter", "v"): 0}
    assert order.dependencies == [("exit", "update")]  # and none from inside the loop


def test_an_update_behind_the_loop_needs_no_further_dependency():
    order = ordered(
        """
        v = VariableV2()
        enter = Enter(v)
        body = Neg(enter)
        exit = Exit(body)
        update = Assign(v, exit)
        """,
        reads={"enter": ["v"]},
        writes={"update": ["v"]},
    )
    assert order.dependencies == []


def test_an_order_that_is_chosen_for_one_variable_holds_for_the_others():
    """Of v the two updates are reversed; a third update of w, behind the first, leaves no other order there."""
    text = TWO_UPDATES.replace("v = VariableV2()", "v = VariableV2()\nw = VariableV2()")
    writes = {"first": ["v", "w"], "second": ["v", "w"], "third": ["w"]}
    order = ordered(text + "third = AssignAdd(w, one, ^first)", {}, writes, variant="reversed")
    assert order.effects == ["second", "first", "third"]
    assert set(order.dependencies) == {("second", "first")}
    assert any(race.variable == "w" and race.reader is None for race in order.races)


def test_a_read_behind_one_that_was_put_after_an_update_comes_after_it_too():
    """The average reads the new v, so what is computed from it comes after the update of w, which that of v awaits."""
    order = ordered(
        """
        v = VariableV2()
        w = VariableV2()
        one = Const()
        count = AssignAdd(w, one)
        train = ApplyGradientDescent(v, one, ^count)
        average = Neg(v)
        beside = Add(average, w)
        """,
        reads={"average": ["v"], "beside": ["w"]},
        writes={"count": ["w"], "train": ["v"]},
        rules=["train"],
    )
    assert order.versions == {("average", "v"): 1, ("beside", "w"): 1}
    assert ("train", "average") in order.dependencies


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
    for variant in ("late", "early", "reversed"):
        order = ordered(text, reads, writes, variant=variant)
        assert order.effects.index("add_0") < order.effects.index("set_0")
        assert order.versions["read_0", "sum"] and order.versions["read_1", "sum"]


def test_weights_are_clipped_after_their_update_where_nothing_orders_the_two():
    text = """
        v = VariableV2()
        x = Placeholder()
        clipped = Minimum(v)
        clip = Assign(v, clipped)
        train = ApplyGradientDescent(v, x)
    """
    order = ordered(text, {"clipped": ["v"]}, {"clip": ["v"], "train": ["v"]}, rules=["train"], on_data=["x", "train"])
    assert order.effects == ["train", "clip"] and order.versions == {("clipped", "v"): 1}
    early = ordered(text, {"clipped": ["v"]}, {"clip": ["v"], "train": ["v"]}, ["train"], ["x", "train"], "early")
    assert early.versions == {("clipped", "v"): 0}


def test_what_the_graph_orders_is_not_changed_for_the_rules():
    text = """
        v = VariableV2()
        clip = Assign(v)
        train = ApplyGradientDescent(v, ^clip)
    """
    assert ordered(text, {}, {"clip": ["v"], "train": ["v"]}, rules=["train"]).effects == ["clip", "train"]


BRANCHES = """
    p = Placeholder()
    v = VariableV2()
    w = VariableV2()
    switch = Switch(v, p)
    up = AssignAdd(switch:1)
    down = AssignSub(switch)
    pivot = Identity(switch:1, ^up)
    merge = Merge(pivot, switch)
    read = Neg(v)
    """


def test_updates_in_opposite_branches_race_with_nothing():
    order = ordered(BRANCHES, reads={}, writes={"up": ["v"], "down": ["v"]})
    assert (sorted(order.effects), order.dependencies, order.races) == (["down", "up"], [], [])


def test_what_is_taken_after_a_conditional_update_waits_for_the_end_of_the_branches():
    """A control input from the update itself would keep the read from running where the branch is not taken."""
    order = ordered(BRANCHES, reads={"read": ["w"]}, writes={"up": ["w"]}, rules=["up"])
    assert order.dependencies == [("merge", "read")]


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
