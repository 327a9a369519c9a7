"""Other orders of a moving average: its read of the weight, and both reads of the step counter in its decay."""

import pytest

from legacy.saved.analysis.order.race_choices import AS_MEANT, RaceChoices, other_choices
from tests.legacy.saved.analysis.order.ordered import ordered

COUNTED = """
    w = VariableV2()
    ema = VariableV2()
    n = VariableV2()
    one = Const()
    train = ApplyGradientDescent(w, one, one)
    count = AssignAdd(n, one, ^train)
    above = AddV2(one, n)
    below = AddV2(one, n)
    decay = RealDiv(above, below)
    gap = Sub(ema, w)
    change = Mul(gap, decay)
    average = AssignSub(ema, change)
    """
READS = {"gap": ["ema", "w"], "above": ["n"], "below": ["n"]}
WRITES = {"train": ["w"], "count": ["n"], "average": ["ema"]}


def versions(choices):
    """How many updates come before the reads of the weight and of the counter: (gap, above, below)."""
    found = ordered(COUNTED, READS, WRITES, rules=["train"], choices=choices).versions
    return found["gap", "w"], found["above", "n"], found["below", "n"]


def test_all_orders_of_an_average_and_its_counter_are_tried():
    tried = {versions(choices) for choices in other_choices(["above", "below"])}
    assert versions(AS_MEANT) == (1, 0, 0)
    assert tried | {(1, 0, 0)} == {(w, above, below) for w in (0, 1) for above in (0, 1) for below in (0, 1)}


def test_many_readers_move_together():
    readers = ["a", "b", "c"]
    assert {choices.late_readers for choices in other_choices(readers)} == {(), ("a", "b", "c")}


def test_without_racing_reads_there_are_two_other_orders():
    assert list(other_choices([])) == [RaceChoices(averages_after=False), RaceChoices(reversed_updates=True)]


@pytest.mark.parametrize("late", [(), ("above",)])
def test_a_read_that_the_graph_orders_is_not_moved(late):
    text = COUNTED.replace("count = AssignAdd(n, one, ^train)", "count = AssignAdd(n, one, ^train, ^above)")
    found = ordered(text, READS, WRITES, rules=["train"], choices=RaceChoices(late_readers=late))
    assert found.versions["above", "n"] == 0
