"""Half precision: the 16-bit floating formats in which parts of a step may compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

#: {format: bits of its significand, the leading one included}, the coarsest first.
SIGNIFICANDS = {"bfloat16": 8, "float16": 11}


def coarsest_half(dtypes: Iterable[str]) -> str:
    """Returns the coarsest 16-bit format among the names of dtypes, or "" if there is none.

    >>> coarsest_half(["float32", "float16", "bfloat16"]), coarsest_half(["float32", "int32"])
    ('bfloat16', '')
    """
    found = set(dtypes)
    return next((name for name in SIGNIFICANDS if name in found), "")


def epsilon(name: str) -> float:
    """Returns the distance from 1 to the next larger number of a format of `SIGNIFICANDS`.

    >>> epsilon("float16")
    0.0009765625
    """
    return 2.0 ** (1 - SIGNIFICANDS[name])
