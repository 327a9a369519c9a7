"""Orders of an update rule and what reads or sets its weight beside it: moving averages, clipped weights."""

import pytest

from tests.legacy.saved.analysis.order.ordered import EARLY, ordered
from workloads.lifted.plan import Race

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
        {"rules": ["train"], "choices": EARLY},
        {"rules": ["train"], "on_data": ["change"]},  # the model itself reads the old weight
        {"rules": []},  # the update trains nothing
        {"rules": ["train", "average"]},  # the read leads to an update rule
    ],
)
def test_other_reads_that_race_with_an_update_read_the_old_value(options):
    order = ordered(AVERAGE, AVERAGE_READS, AVERAGE_WRITES, **options)
    assert order.versions["change", "w"] == 0
    assert order.dependencies == [("change", "train")]


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
    early = ordered(text, {"clipped": ["v"]}, {"clip": ["v"], "train": ["v"]}, ["train"], ["x", "train"], EARLY)
    assert early.versions == {("clipped", "v"): 0}


def test_what_the_graph_orders_is_not_changed_for_the_rules():
    text = """
        v = VariableV2()
        clip = Assign(v)
        train = ApplyGradientDescent(v, ^clip)
    """
    assert ordered(text, {}, {"clip": ["v"], "train": ["v"]}, rules=["train"]).effects == ["clip", "train"]


SCALED = """
    g = VariableV2()
    v = VariableV2()
    row = Reshape(g)
    forward = Mul(row, v)
    of_g = Sum(forward)
    of_v = Mul(forward, row)
    train_g = Assign(g, of_g)
    train_v = Assign(v, of_v)
    """
SCALED_USES = {"reads": {"row": ["g"], "forward": ["v"]}, "writes": {"train_g": ["g"], "train_v": ["v"]}}


def test_an_update_waits_for_what_uses_a_view_of_its_variable():
    """The scale of weight normalization: the gradient of the direction uses it after the forward pass has."""
    view_uses = {"forward": ["g"], "of_v": ["g"]}
    order = ordered(SCALED, **SCALED_USES, rules=["train_g", "train_v"], view_uses=view_uses)
    assert order.dependencies == [("of_v", "train_g")]
    assert order.races == [Race("g", "of_v", "train_g", reader="of_v")]
    assert not ordered(SCALED, **SCALED_USES, rules=["train_g", "train_v"]).races  # as if `row` were a copy


def test_what_uses_a_view_behind_an_update_stays_there():
    text = SCALED.replace("Mul(forward, row)", "Mul(forward, row, ^train_g)")
    order = ordered(text, **SCALED_USES, rules=["train_g"], view_uses={"forward": ["g"], "of_v": ["g"]})
    assert order.dependencies == [] and order.races == []
