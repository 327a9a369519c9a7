"""Races in words: those of one variable, or of one kind, are one sentence."""

import doctest

from workloads.lifted.plan import Race, race_sentences


def reads(count, variable="step", update="train"):
    """Races of some reads of a variable before an update."""
    return [Race(variable, f"rate_{n}", update, f"rate_{n}") for n in range(count)]


def test_the_docstrings_examples_hold():
    assert doctest.testmod(race_sentences).failed == 0


def test_reads_of_one_variable_beside_one_update_are_one_sentence():
    found = list(race_sentences.race_sentences([*reads(39), *reads(2, "w", "clip"), Race("w", "rate_2", "clip")]))
    assert found == [
        "step: rate_0, rate_1, rate_2 and 36 more may use it before or after train; taken before",
        "w: rate_0, rate_1 may use it before or after clip; taken before",
        "w: changed by rate_2 and clip in any order",
    ]


def test_one_read_is_told_as_by_itself():
    assert list(race_sentences.race_sentences(reads(1))) == [reads(1)[0].text]


def test_reads_beside_the_same_updates_are_one_sentence_and_others_are_apart():
    pairs = [*reads(7), *reads(7, update="reset")]
    before = "may use it before or after"
    assert list(race_sentences.race_sentences(pairs)) == [
        f"step: rate_0, rate_1, rate_2 and 4 more {before} each of train, reset; taken before"
    ]
    assert list(race_sentences.race_sentences([*reads(2), *reads(1, update="reset")])) == [
        f"step: rate_0 {before} each of train, reset; taken before",
        f"step: rate_1 {before} train; taken before",
    ]


def test_changes_in_no_order_with_one_another_are_one_sentence():
    star = [Race("step", f"add_{n}", "train") for n in range(9)]
    assert list(race_sentences.race_sentences(star)) == [
        "step: changed by train and each of add_0, add_1, add_2 and 6 more in any order"
    ]
    three = [Race("w", "a", "b"), Race("w", "a", "c"), Race("w", "b", "c")]
    assert list(race_sentences.race_sentences(three)) == ["w: changed by a, b, c in any order"]


def test_changes_of_which_some_have_an_order_are_told_pair_by_pair():
    pairs = [Race("w", "a", "b"), Race("w", "c", "d")]
    assert list(race_sentences.race_sentences(pairs)) == [race.text for race in pairs]
