"""Dataclasses as plain JSON."""

from __future__ import annotations

import dataclasses
import doctest
from typing import NamedTuple

import pytest

from workloads.lifted.plan import json_records
from workloads.lifted.plan.json_records import JSON_KEY, OMIT_EMPTY, arguments_of, plain


class Pair(NamedTuple):
    left: str
    right: int


@dataclasses.dataclass
class Leaf:
    pair: Pair
    size: int = dataclasses.field(default=0, metadata={JSON_KEY: "n"})


@dataclasses.dataclass
class Bud:
    names: list[str] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})


@dataclasses.dataclass
class Tree:
    leaves: list[Leaf]
    by_name: dict[str, Pair]


def test_records_become_dicts_and_lists_with_their_json_keys_in_the_fields_order():
    tree = Tree([Leaf(Pair("a", 1), 3)], {"b": Pair("c", 2)})
    content = plain(tree)
    assert content == {"leaves": [{"pair": ["a", 1], "n": 3}], "by_name": {"b": ["c", 2]}}
    assert list(content["leaves"][0]) == ["pair", "n"] and type(content["by_name"]["b"]) is list


def test_a_field_that_is_omitted_when_empty_stands_only_where_it_says_something():
    assert plain(Bud()) == {} and plain(Bud(["a"])) == {"names": ["a"]}
    assert Bud(**arguments_of(Bud, {})) == Bud()


def test_json_keys_become_attributes_again_and_unknown_keys_are_kept_to_be_refused():
    assert arguments_of(Leaf, {"pair": ["a", 1], "n": 3}) == {"pair": ["a", 1], "size": 3}
    with pytest.raises(TypeError):
        Leaf(**arguments_of(Leaf, {"pair": ["a", 1], "other": 3}))


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(json_records).failed == 0 < doctest.testmod(json_records).attempted
