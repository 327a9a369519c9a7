"""Choices of made-up data that are tried: ranks of inputs of unknown rank, ranges of integers, sizes that are alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from legacy.saved.data_trial.trial_sizes import PRIMES, has_open_size
from workloads.lifted.made_up_data import INTEGER_LIMIT, OPEN, VALUES
from workloads.lifted.plan import Input

#: Ranks that are tried for an input of unknown rank.
RANKS = (2, 1, 4, 3)
#: Factors of all open sizes, where a graph runs with few and its results are no numbers.
FACTORS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
#: Most numbers of an input that such factors may make.
LARGEST_INPUT = 1 << 18


def is_open(entry: Input) -> bool:
    """Returns whether made-up values of an input could be wrong."""
    if entry.dtype in ("string", "resource", "variant"):
        return False
    is_unbounded = entry.dtype.startswith("int") and (not entry.limit or _are_lengths(entry))
    return is_unbounded or entry.shape is None or None in entry.shape or bool(entry.sparse) or entry.dtype == "bool"


def has_open_rows(entries: Sequence[Input]) -> bool:
    """Whether a batch has another open dimension: the first may be that of time, which other inputs have elsewhere."""
    return any(entry.has_examples and None in (entry.shape or [])[1:] for entry in entries)


def of_full_length(entries: Sequence[Input]) -> list[Input]:
    """Returns the inputs with one size for all open dimensions, and with that as the length of each example.

    A padded batch is as wide as its longest example, and a decoder's results may be as many as the greatest length.
    """
    found = []
    for entry in all_alike(entries):
        is_number_of_example = len(entry.shape or []) == 1 and entry.has_examples and not entry.sparse
        if is_number_of_example:
            entry = with_range(entry, OPEN, OPEN + 1)
        elif None in (entry.shape or [])[1:] and not entry.sparse:
            sizes = [size or (OPEN if i else None) for i, size in enumerate(entry.shape or [])]
            entry = dataclasses.replace(entry, example=sizes)
        found.append(entry)
    return found


def all_alike(entries: Sequence[Input]) -> list[Input]:
    """Returns the inputs with one size for all open dimensions: rank 4 may be letters of words, and not images."""
    if not any(len(entry.shape or []) == 4 and None in (entry.shape or [])[1:] for entry in entries):
        return list(entries)
    sizes = [[size or (OPEN if i else None) for i, size in enumerate(entry.shape or [])] for entry in entries]
    pairs = zip(entries, sizes)
    return [dataclasses.replace(entry, example=own) if own and not entry.sparse else entry for entry, own in pairs]


def larger_inputs(entries: Sequence[Input]) -> Iterator[list[Input]]:
    """Yields the inputs with all open sizes times a factor, the least first.

    A loss that leaves out what lies within a receptive field is a mean of nothing where sequences are no longer.
    """
    places = [[i for i in range(len(e.shape or [])) if has_open_size(e, i)] for e in entries]
    for factor in FACTORS if any(places) else ():
        grown = [_larger(entry, own, factor) for entry, own in zip(entries, places)]
        if all(np.prod([size or 1 for size in entry.example]) <= LARGEST_INPUT for entry in grown):
            yield grown


def _larger(entry: Input, places: Sequence[int], factor: int) -> Input:
    sizes = list(entry.example or entry.shape or [])
    for place in places:
        sizes[place] = (sizes[place] or OPEN) * factor
    return dataclasses.replace(entry, example=sizes) if places else entry


def choices(entries: Sequence[Input]) -> Iterator[list[Input]]:
    """Yields the inputs with ranks for those of unknown rank, and with ranges for integers without a bound."""
    unknown = [e.name for e in entries if e.shape is None and e.kind != "setting" and not e.sparse]
    sizes = sorted({size for entry in entries for size in (entry.shape or [])[1:] if size} | {OPEN, *PRIMES[:2]})
    for rank in RANKS if unknown else (0,):
        ranked = [
            _with_rank(entry, 1 if entry.dtype.startswith("int") and rank == 2 else rank)
            if entry.name in unknown
            else entry
            for entry in entries
        ]
        for low, limit in [(0, 0), (1, 2), (0, 1)]:
            yield [with_range(entry, low, limit) for entry in ranked]
        yield from _one_kind_long(ranked, sizes)
        for size in sizes:
            yield [with_range(entry, size, size + 1) for entry in ranked]


def _one_kind_long(entries: Sequence[Input], sizes: Sequence[int]) -> Iterator[list[Input]]:
    """Yields the inputs with the lengths of one input all of a size, and those of the others 1.

    Those of CTC's times, of which the graph may take a part, must be longer than those of its labels.

    Args:
      entries: the inputs; the lengths of sequences have a least one.
      sizes: that are tried, the longest first.
    """
    lengths = [entry.name for entry in entries if entry.low and not entry.limit and entry.kind != "setting"]
    for size in sorted(sizes, reverse=True) if len(lengths) > 1 else ():
        for name in lengths:
            yield [with_range(e, size, size + 1) if e.name == name else with_range(e, 1, 2) for e in entries]


def ranges_of_several(entry: Input) -> list[tuple[int, int, bool]]:
    """Returns ranges (low, limit, has_full) of two values for an input that has one value now, best first."""
    below = max(entry.low - 1, 0)
    found = [(below, False), (below, True), (entry.low, False)]
    return [(low, low + INTEGER_LIMIT, has_full) for low, has_full in dict.fromkeys(found)]


def with_long_sequences(entries: Sequence[Input], before: Sequence[Input]) -> list[Input]:
    """Returns the inputs with sequences of at least half of the greatest length: labels must fit into them.

    Args:
      entries: the inputs as the graph runs with them.
      before: the inputs with the bounds that the graph shows; the lengths of sequences have a least one.
    """
    halves = [max(entry.low, entry.limit // 2) if known.low else entry.low for entry, known in zip(entries, before)]
    return [dataclasses.replace(entry, low=low) for entry, low in zip(entries, halves)]


def longer_sequences(entries: Sequence[Input]) -> list[list[Input]]:
    """Returns the inputs with sequences of half the greatest length or more, and of the two greatest lengths.

    A sequence must be long enough for what is read off it, as in CTC for its labels and a blank between equal ones.
    """
    halves = [dataclasses.replace(e, low=e.limit // 2) if _are_lengths(e) else e for e in entries]
    longest = [dataclasses.replace(e, low=e.limit - 2) if _are_lengths(e) else e for e in entries]
    return [longer for longer in (halves, longest) if longer != list(entries)]


def without_padding(entries: Sequence[Input]) -> list[Input]:
    """Returns the inputs with no zeros among integers without a bound: a graph may leave these out, as of labels."""
    return [with_range(entry, 1, 1 + INTEGER_LIMIT) if entry.low < 1 else entry for entry in entries]


def _are_lengths(entry: Input) -> bool:
    """Returns whether the integers of an input are lengths of sequences that the graph knows the greatest of."""
    return 0 < entry.low < entry.limit - 2


def _with_rank(entry: Input, rank: int) -> Input:
    """Returns an input of unknown rank with all dimensions open."""
    return dataclasses.replace(entry, shape=[None] * rank)


def with_range(entry: Input, low: int, limit: int) -> Input:
    """Gives an input another range, if it is of integers without a bound, or of booleans.

    Args:
      entry: the input; it is not changed.
      low: the least number.
      limit: the number that all are below; 0 for the usual one.

    Returns:
      The input with that range; any other input as it is.
    """
    if entry.sparse and not entry.sparse.endswith("/" + VALUES):
        return entry
    if entry.dtype == "bool" and entry.kind != "setting":
        return dataclasses.replace(entry, low=min(low, 1))
    if entry.dtype.startswith("int") and not entry.limit and entry.kind != "setting":
        return dataclasses.replace(entry, low=max(low, entry.low) if low else entry.low, limit=limit)
    return entry
