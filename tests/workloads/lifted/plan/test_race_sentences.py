"""Races in words: many of one kind are one sentence."""

import doctest

from workloads.lifted.plan import Race, race_sentences
from workloads.lifted.plan.race_sentences import MOST_READS


def reads(count, variable="step", update="train"):
    """Races of some reads of a variable before an update."""
    return [Race(variable, f"rate_{n}", update, f"rate_{n}") for n in range(count)]


def test_the_docstrings_examples_hold():
    assert doctest.testmod(race_sentences).failed == 0


def test_many_reads_of_one_variable_beside_one_update_are_one_sentence():
    found = list(race_sentences.race_sentences(reads(39)))
    assert found == ["step: rate_0, rate_1, rate_2 and 36 more may use it before or after train; taken before"]


def test_few_reads_and_reads_beside_other_updates_are_told_apart():
    few = reads(MOST_READS)
    assert list(race_sentences.race_sentences(few)) == [race.text for race in few]
    pairs = [*reads(7), *reads(7, update="reset")]
    assert [text.rpartition(" after ")[2] for text in race_sentences.race_sentences(pairs)] == [
        "train; taken before",
        "reset; taken before",
    ]
    writes = [Race("step", f"add_{n}", "train") for n in range(9)]
    assert list(race_sentences.race_sentences(writes)) == [race.text for race in writes]
