"""Values from JSON are of the annotated types, at any depth."""

import dataclasses
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import pytest

from tests.refusals import refusal
from workloads.lifted.plan.json_types import require_types
from workloads.support.errors import InputError


class Pair(NamedTuple):
    name: str
    sizes: Optional[Sequence[Optional[int]]]


@dataclasses.dataclass
class Everything:
    flag: bool = True
    number: float = 1.0
    pairs: Dict[str, Pair] = dataclasses.field(default_factory=lambda: {"a": Pair("x", [1, None])})
    rows: List[List[str]] = dataclasses.field(default_factory=lambda: [["a"]])
    about: Any = None


def test_what_is_of_the_annotated_types_passes():
    other = Everything(number=2, pairs={"a": Pair("x", None)}, about=[{}])
    assert refusal(require_types, Everything(), Everything, "plan") == ""
    assert refusal(require_types, other, Everything, "plan") == ""


@pytest.mark.parametrize(
    "change, message",
    [
        ({"flag": 1}, "plan: flag is 1, expected bool"),
        ({"number": "1"}, "plan: number is '1', expected a number"),
        ({"number": True}, "plan: number is True, expected a number"),
        ({"pairs": []}, r"plan: pairs is \[\], expected an object"),
        ({"pairs": {"b": ["x", None]}}, r"plan: pairs\['b'\] is \['x', None\], expected Pair"),
        ({"pairs": {"b": Pair(3, None)}}, r"plan: pairs\['b'\].name is 3, expected str"),
        ({"pairs": {"b": Pair("x", [1.5])}}, r"plan: pairs\['b'\].sizes\[0\] is 1.5, expected int"),
        ({"rows": ["a"]}, r"plan: rows\[0\] is 'a', expected a list"),
        ({"rows": [[None]]}, r"plan: rows\[0\]\[0\] is None, expected str"),
    ],
)
def test_another_type_is_named_with_its_place(change, message):
    with pytest.raises(InputError, match=message):
        require_types(Everything(**change), Everything, "plan")
