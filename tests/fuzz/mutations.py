"""Damages to files: of their bytes, and of what they mean, with checksums and digests made right again."""

from __future__ import annotations

import pathlib
import random
from collections.abc import Callable

from tests.fuzz import array_damage, byte_damage, graph_damage, json_damage


def damage(path: pathlib.Path, rng: random.Random) -> str:
    """Damages a file in one way, chosen by `rng`; returns what was done."""
    ways: list[Callable[[pathlib.Path, random.Random], str]] = [byte_damage.damage_bytes]
    name = path.name
    if name.endswith(".npz"):
        ways += (
            [array_damage.damage_recording] * 4
            if array_damage.is_recording(path)
            else [array_damage.damage_archive] * 2
        )
    elif name.endswith(".zip"):
        ways += [array_damage.damage_steps] * 4
    elif name.endswith(".json"):
        ways += [json_damage.damage_json] * 6
    elif name == "tf_config":
        ways += [json_damage.damage_json] * 3
    elif name.endswith((".meta", ".pb")):
        ways += [graph_damage.damage_graph] * 6
    elif name.endswith(".gz"):
        ways += [byte_damage.make_bomb]
    elif name.startswith("train-"):
        ways += [byte_damage.damage_header]
    return rng.choice(ways)(path, rng)
