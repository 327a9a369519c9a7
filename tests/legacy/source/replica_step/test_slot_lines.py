"""The list of slots: no line of it is too long, however many lists of weights and slots there are."""

from legacy.source.lines.line_breaks import WIDTH
from legacy.source.replica_step.tables import slot_lines


def lists_of(count):
    return {f"{'LONG_NAME_' * 3}{n}_WEIGHTS": [f"net{n}/w"] for n in range(count)}


def value_of(lines, groups):
    space = dict(groups)
    exec("\n".join(lines), space)
    return space["SLOTS"]


def test_a_sum_of_many_lists_is_divided_into_lines():
    groups = lists_of(4)
    slots = {weight: {"Adam": 0.0, "Adam_1": 0.0} for own in groups.values() for weight in own}
    lines = slot_lines(slots, groups)
    assert max(map(len, lines)) <= WIDTH and "        + LONG_NAME_LONG_NAME_LONG_NAME_3_WEIGHTS," in lines
    assert value_of(lines, groups) == [([f"net{n}/w" for n in range(4)], {"Adam": 0.0, "Adam_1": 0.0})]


def test_many_slots_are_divided_into_lines():
    own = {f"train/scope/of/the/optimizer/{{}}/Slot_{n}": 0.5 * n for n in range(5)}
    lines = slot_lines({"w": own}, {"WEIGHTS": ["w"]})
    assert max(map(len, lines)) <= WIDTH and value_of(lines, {"WEIGHTS": ["w"]}) == [(["w"], own)]


def test_what_fits_stays_in_one_line():
    assert slot_lines({"w": {"Adam": 0.0}}, {"WEIGHTS": ["w"]}) == ['SLOTS = [(WEIGHTS, {"Adam": 0.0})]']
