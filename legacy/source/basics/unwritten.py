"""`Unwritten`: the reason why a part of an old program is not written."""

from __future__ import annotations


class Unwritten(Exception):
    """A part of the old program that the source cannot say; the message names it and says why."""
