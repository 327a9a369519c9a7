"""Initializers by the texts that a plan names them by, see `Variable.initializer`."""

from __future__ import annotations

import re

CONSTANT, TRUNCATED_NORMAL, GLOROT = "constant", "truncated_normal", "glorot_uniform"

_TEXT = re.compile(rf"({GLOROT}|({CONSTANT}|{TRUNCATED_NORMAL}) -?(\d[\d.e+-]*|inf|nan))\Z")


def is_initializer(text: str) -> bool:
    """Returns whether a text names an initializer.

    >>> is_initializer("constant -0.5"), is_initializer("glorot_uniform"), is_initializer("constant")
    (True, True, False)
    """
    return _TEXT.match(text) is not None
