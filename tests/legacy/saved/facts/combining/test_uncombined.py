"""Sentences on gradients that towers do not combine, for phases made by hand."""

import types

import pytest

from legacy.saved.facts.combining.uncombined import uncombined_sentences
from workloads.lifted.plan import Combine

ODD = "combining not recognised, kept as written: w"


def sentences(*combines, towers=2, accumulators=(), weights=None):
    """Sentences on the combining of a train op, in towers whose numbers in the program begin with 1."""
    step = types.SimpleNamespace(
        plan=types.SimpleNamespace(towers=towers),
        accumulators=set(accumulators),
        probe=types.SimpleNamespace(weights=lambda combine: weights),
        numbers=types.SimpleNamespace(of=lambda tower: tower + 1),
    )
    return list(uncombined_sentences(step, types.SimpleNamespace(train_op="train", combine=list(combines))))


def kept(weight, *parts):
    return Combine(weight, "kept as written", "sum:0", 1.0, [list(part) for part in parts])


def test_a_mean_is_combined():
    assert sentences(Combine("w", "mean", "sum:0", 1.0, [["g:0"], ["h:0"]])) == []


@pytest.mark.parametrize("towers, expected", [(2, "train: gradients of tower 1 alone are applied to w"), (1, ODD)])
def test_gradients_of_one_tower_alone(towers, expected):
    assert sentences(kept("w", ["g:0"], []), towers=towers) == [expected]


def test_gradients_of_one_tower_beside_those_of_all():
    mean = Combine("w", "mean", "sum:0", 1.0, [["g:0"], ["h:0"]])
    besides = "train: gradients of tower 2 alone are applied besides the combined ones to w"
    assert sentences(mean, kept("w", [], ["k:0"])) == [besides]


def test_gradients_that_each_tower_applies():
    alone = [kept("w", ["g:0"], []), kept("w", [], ["h:0"])]
    assert sentences(*alone) == ["train: towers apply their own gradients, uncombined, to w"]


@pytest.mark.parametrize("sums, text", [(["w"], "each tower adds its own gradients"), (["v"], "gradients of tower 1")])
def test_gradients_that_each_tower_adds_up_are_not_applied(sums, text):
    (found,) = sentences(kept("w", ["g:0"], []), accumulators=sums)
    assert found.startswith(f"train: {text}")


@pytest.mark.parametrize("weights, expected", [(None, [ODD]), ((0.5, 0.5), [])])
def test_gradients_of_all_towers_that_are_combined_in_an_unknown_way(weights, expected):
    assert sentences(kept("w", ["g:0"], ["h:0"]), weights=weights) == expected
