"""Shapes with open sizes: whether an array has such a shape, and the shape that two arrays share."""

from __future__ import annotations

from typing import Optional, Sequence, Tuple


def fits(sizes: Sequence[int], shape: Optional[Sequence[Optional[int]]]) -> bool:
    """Returns whether an array of some sizes has a shape, None in which is any size, or which is None for any rank.

    >>> fits((4, 7), [None, 7]), fits((4, 7), [None]), fits((4, 7), None)
    (True, False, True)
    """
    return shape is None or (len(shape) == len(sizes) and all(own in (None, size) for own, size in zip(shape, sizes)))


def common_shape(left: Sequence[Optional[int]], right: Sequence[int]) -> Tuple[Optional[int], ...]:
    """Returns the sizes that two shapes share, None where they differ; the first shape if the ranks differ.

    >>> common_shape((4, 7), (4, 9))
    (4, None)
    """
    return tuple(a if a == b else None for a, b in zip(left, right)) if len(left) == len(right) else tuple(left)
