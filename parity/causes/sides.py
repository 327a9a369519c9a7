"""Both sides' updates, for the rules that read them."""

from __future__ import annotations


def both_updates(evidence):
    """(left, right) updates if both can be followed, else None."""
    left, right = evidence.updates
    return (left, right) if left is not None and right is not None else None
