"""Initializers by the texts that a plan names them by, see `Variable.initializer`."""

from __future__ import annotations

import re

CONSTANT, TRUNCATED_NORMAL, GLOROT = "constant", "truncated_normal", "glorot_uniform"
#: With a gain.
ORTHOGONAL = "orthogonal"
#: With two numbers: standard deviation and mean; lowest and highest value.
NORMAL, UNIFORM = "normal", "uniform"

_NUMBER = r" -?(\d[\d.e+-]*|inf|nan)"
_ONE, _TWO = f"({CONSTANT}|{ORTHOGONAL}|{TRUNCATED_NORMAL}){_NUMBER}", f"({NORMAL}|{UNIFORM}){_NUMBER}{_NUMBER}"
_TEXT = re.compile(rf"({GLOROT}|{_ONE}|{_TWO})\Z")


def is_initializer(text: str) -> bool:
    """Returns whether a text names an initializer.

    >>> is_initializer("constant -0.5"), is_initializer("glorot_uniform"), is_initializer("constant")
    (True, True, False)
    >>> is_initializer("normal 0.02 1.0"), is_initializer("uniform -0.1")
    (True, False)
    """
    return _TEXT.match(text) is not None
