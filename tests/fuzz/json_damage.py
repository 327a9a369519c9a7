"""Damages to the entries of JSON."""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

#: Values of every type of JSON, and of sizes that programs do not expect.
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63, 10**30, 0.5, -1e308, float("nan"), float("inf"), "", "x", "x:x", "^x",
    "x:999999", "\u0000", "\ud800", "a" * 5000, [], {}, [[]], [None], ["x"], {"x": 1}, [[[[1]]]], "../../x", "float32",
)  # fmt: skip


def damage_json(path: pathlib.Path, rng: random.Random) -> str:
    """Replaces, removes or adds something in JSON; a lift's other files still have the right digest."""
    content = json.loads(path.read_text())
    told = odd_json(content, rng)
    path.write_text(json.dumps(content))
    return f"{path.name}: {told}"


def odd_json(content: Any, rng: random.Random) -> str:
    """Changes one entry, at any depth, of a list or an object; returns what was done."""
    places = [(content, key) for key in _keys(content)]
    for place, key in places:
        if isinstance(place[key], (list, dict)):
            places += [(place[key], below) for below in _keys(place[key])]
    if not places:
        return "nothing"
    place, key = rng.choice(places)
    way = rng.choice(["replace", "replace", "replace", "remove", "swap", "nest", "wrap"])
    told = f"{way} {str(key)[:40]!r}"
    if way == "replace":
        place[key] = rng.choice(ODD_VALUES)
        told += f" by {str(place[key])[:40]!r}"
    elif way == "remove":
        del place[key]
    elif way == "swap":
        other, other_key = rng.choice(places)
        if isinstance(place[key], (str, int, type(None))) and other_key in _keys(other):
            place[key] = other[other_key] if not isinstance(other[other_key], (list, dict)) else str(other_key)
    elif way == "nest":
        deep: Any = place[key]
        for _ in range(500):
            deep = [deep]
        place[key] = deep
    else:
        place[key] = [place[key]]
    return told


def _keys(content: Any) -> list[Any]:
    return (
        list(content) if isinstance(content, dict) else list(range(len(content))) if isinstance(content, list) else []
    )
