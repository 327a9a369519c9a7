"""Sizes of open dimensions that are tried, and how the numbers in an op's error correct them."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Tuple

from workloads.lifted.plan import Input

#: Sizes of open dimensions, one for each; none is common in models, so that one in an error names its dimension.
PRIMES = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
#: Sizes of an image's sides.
IMAGE_SIDES = (64, 96)
#: Size of the batch.
BATCH_PRIME = 7
#: Corrections cost one each, more where two dimensions become one or the batch changes. What is cheap is tried first.
TIE_COST, BATCH_COST = 0.5, 3.0
#: Costs of a correction of all sizes in which two shapes of an error differ: an op wants these two to be equal.
SHAPE_COST = 0.25
#: The same where two dimensions of one size become a multiple of it: what was made of one of them would grow with it,
#: so that the next error asks for the multiple of the multiple.
GROWTH_COST = 1.0
#: Cost of a correction of both sides of an image, so that its layers have as many positions as another shape.
AREA_COST = 1.0
#: Larger numbers in messages are no sizes.
LARGEST = 1 << 20
#: No graph needs a batch as large: such a number is of all pixels of some images, and its run would need much memory.
LARGEST_BATCH = 1 << 10
#: A size in an error's message; digits in the name of a node, such as tower_1/sub, are none.
SIZE_PATTERN = re.compile(r"(?<![\w/.])\d+(?![\w/.]*[\w/])")
#: A shape in an error's message, such as [7,16,24,1].
SHAPE_PATTERN = re.compile(r"\[(\d+(?:, ?\d+)+)\]")

#: (input's name, dimension): an open dimension.
Dimension = Tuple[str, int]


class Sizes(NamedTuple):
    """Sizes of open dimensions.

    Attributes:
      cost: of the corrections that led to them.
      open: {open dimension: size}.
      batch: number of a tower's examples.
    """

    cost: float
    open: dict[Dimension, int]
    batch: int


def first_sizes(entries: Sequence[Input], batch: int) -> Sizes:
    """Returns the sizes that are tried first: a prime of its own for each open dimension but the examples'.

    The rows of what each tower gets whole are no examples, such as times before as many sequences as a batch has.

    Args:
      entries: the inputs.
      batch: number of a tower's examples.
    """
    dimensions = [
        (entry.name, i) for entry in entries for i in range(len(entry.shape or [])) if has_open_size(entry, i)
    ]
    start = {dimension: PRIMES[k % len(PRIMES)] for k, dimension in enumerate(dimensions)}
    return Sizes(0.0, {**start, **_image_sizes(entries)}, batch)


def has_open_size(entry: Input, place: int) -> bool:
    """Returns whether a dimension of an input is open and not that of examples; sizes of a sparse one follow its rank.

    Args:
      entry: the input, of known rank.
      place: number of the dimension.
    """
    is_open = (entry.shape or [])[place] is None
    return is_open and (place > 0 or entry.kind == "whole") and not entry.sparse


def _image_sizes(entries: Sequence[Input]) -> dict[Dimension, int]:
    """Returns sizes of the open sides of one image input, of the first with three channels if there are several.

    A network may halve an image five times and put it together again, which it cannot do with primes.
    """
    images = [entry for entry in entries if len(entry.shape or []) == 4]
    images.sort(key=lambda entry: (entry.shape or [])[3] != 3)
    sides = [(images[0].name, i) for i in (1, 2) if (images[0].shape or [])[i] is None] if images else []
    return dict(zip(sides, IMAGE_SIDES))


def with_sizes(entry: Input, sizes: Sizes) -> Input:
    """Returns an input with the given sizes of its open dimensions; one that is the batch's stays open."""
    if entry.sparse:
        return entry
    shape = [sizes.open.get((entry.name, i), size) for i, size in enumerate(entry.shape or [])]
    is_batch = [old is None and new == sizes.batch for old, new in zip(entry.shape or [], shape)]
    return dataclasses.replace(entry, example=[None if own else size for own, size in zip(is_batch, shape)])


def corrected_sizes(sizes: Sizes, batch_is_open: bool, message: str) -> Iterator[Sizes]:
    """Reads sizes from an error: a multiple of a size in it must become another number of it.

    Dimensions of the same size stay tied to each other.

    Args:
      sizes: those of the run that failed.
      batch_is_open: whether the batch may change.
      message: the error's.

    Yields:
      the sizes with one correction.
    """
    yield from _sizes_of_equal_shapes(sizes, message)
    yield from _sizes_of_areas(sizes, message)
    numbers = [int(text) for text in dict.fromkeys(SIZE_PATTERN.findall(message)) if 0 < int(text) < LARGEST]
    known = set(sizes.open.values()) | {sizes.batch}
    for value in dict.fromkeys([*sizes.open.values(), *([sizes.batch] if batch_is_open else [])]):
        for number in [number for number in numbers if number % value == 0]:
            for other in [other for other in numbers if other != number]:
                factor = number // value
                size, cost = (other // factor, 1.0) if other % factor == 0 else (other, 2.0)
                if size == value:
                    continue
                cost += TIE_COST if size in known else 0.0
                cost += BATCH_COST if value == sizes.batch else 0.0
                changed = {dimension: size if old == value else old for dimension, old in sizes.open.items()}
                batch = size if value == sizes.batch and batch_is_open else sizes.batch
                if batch > max(LARGEST_BATCH, sizes.batch):
                    continue
                yield Sizes(sizes.cost + cost, changed, batch)


def _sizes_of_areas(sizes: Sizes, message: str) -> Iterator[Sizes]:
    """Yields square sizes of an image with as many positions as a shape of an error has, such as constant anchors.

    The number of positions of any layer grows with the image's area.
    """
    shapes = [tuple(map(int, text.split(","))) for text in dict.fromkeys(SHAPE_PATTERN.findall(message))]
    pairs = {pair for one, two in itertools.permutations(shapes, 2) if len(one) == len(two) for pair in zip(one, two)}
    for name in [name for name, place in sizes.open if place == 1 and (name, 2) in sizes.open]:
        height, width = (sizes.open[name, place] for place in (1, 2))
        for wrong, right in pairs:
            side = round((height * width * right / wrong) ** 0.5) if wrong else 0
            if wrong != right and side * side * wrong == height * width * right:
                changed = {one: side if old in (height, width) else old for one, old in sizes.open.items()}
                yield Sizes(sizes.cost + AREA_COST, changed, sizes.batch)


def _sizes_of_equal_shapes(sizes: Sizes, message: str) -> Iterator[Sizes]:
    """Yields the sizes with which a shape of an error becomes another one of it, ones aside, which are repeated.

    Shapes may lack one of a size, as where each element of a sequence but the first one is predicted.
    """
    shapes = [tuple(map(int, text.split(","))) for text in dict.fromkeys(SHAPE_PATTERN.findall(message))]
    own = list(sizes.open.values())
    for (wrong, right), lacking in itertools.product(itertools.permutations(shapes, 2), (0, 1)):
        pairs = {(old + lacking, new + lacking) for old, new in zip(wrong, right) if old != new and 1 not in (old, new)}
        becomes = dict(pairs)
        if len(wrong) == len(right) and len(becomes) == len(pairs) and becomes.keys() <= set(own):
            changed = {dimension: becomes.get(old, old) for dimension, old in sizes.open.items()}
            grows = any(own.count(old) > 1 and new % old == 0 for old, new in pairs)
            yield Sizes(sizes.cost + (GROWTH_COST if grows else SHAPE_COST), changed, sizes.batch)
