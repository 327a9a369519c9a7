"""Values of a lift's inputs: made up within the bounds that its graph shows, and parts of sparse tensors."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np

from workloads.support.errors import require

if TYPE_CHECKING:
    from workloads.lifted.plan import Input
    from workloads.program import Arrays

#: Size of a dimension that the graph leaves open and that is not the batch: of images (rank 4), and of anything else.
OPEN_IMAGE, OPEN = 64, 6
#: Integers are below this where the graph sets no bound: images of bytes, and anything else.
BYTE_LIMIT, INTEGER_LIMIT = 256, 2
#: The parts of a sparse tensor, in the order of TensorFlow's ops.
INDICES, VALUES, SHAPE = "indices", "values", "shape"
#: Dimensions of a sparse tensor where the graph leaves them open.
RANK = 2
#: Entries of one row of a made-up sparse tensor.
ENTRIES_OF_A_ROW = 2


class BatchSize(NamedTuple):
    """Size of a batch.

    Attributes:
      replica: examples of one replica.
      replicas: number of replicas.
    """

    replica: int
    replicas: int


def made_up_shape(entry: Input, size: BatchSize) -> Tuple[int, ...]:
    """Returns the shape of one replica's values of an input."""
    if entry.kind == "setting" or (entry.shape is None and not entry.example):
        return ()
    first = size.replica * (size.replicas if entry.kind == "same" else 1)
    if entry.example:
        return tuple(first if length is None else length for length in entry.example)
    shape = entry.shape or []
    other = OPEN_IMAGE if len(shape) == 4 else RANK if entry.sparse.endswith("/" + INDICES) else OPEN
    return tuple((first if i == 0 else other) if length is None else length for i, length in enumerate(shape))


def made_up_values(entry: Input, size: BatchSize, rng: np.random.RandomState) -> np.ndarray:
    """Makes values of a dense input up: floats uniform in [0, 1), whole numbers within their bounds.

    Args:
      entry: the input.
      size: of the batch.
      rng: source of the random numbers.

    Returns:
      One replica's values.

    Raises:
      InputError: values of its dtype cannot be made up.
    """
    shape = made_up_shape(entry, size)
    if entry.dtype == "bool":
        return np.asarray(rng.randint(entry.low, 2, shape), bool) if shape else np.array(True)
    if entry.dtype.startswith(("int", "uint")):
        return made_up_integers(entry, shape, rng).astype(entry.dtype)
    require(
        entry.dtype.startswith(("float", "double", "half", "bfloat")),
        "--data",
        None,
        f"input {entry.name!r} is of {entry.dtype}, which cannot be made up; give data",
    )
    drawn = rng.randint(entry.low, integer_limit(entry), shape) if entry.limit else rng.random_sample(shape)
    return np.asarray(drawn).astype(entry.dtype)


def made_up_integers(entry: Input, shape: Tuple[int, ...], rng: np.random.RandomState) -> np.ndarray:
    """Makes whole numbers of an input up, within its bounds; of lengths, one may have to be the longest.

    Args:
      entry: the input.
      shape: of the numbers.
      rng: source of the random numbers.

    Returns:
      The numbers.
    """
    integers = np.asarray(rng.randint(entry.low, integer_limit(entry), shape))
    if entry.has_full and integers.size:
        integers.flat[rng.randint(integers.size)] = integer_limit(entry) - 1
    return integers


def integer_limit(entry: Input) -> int:
    """Returns the number that made-up integers of an input stay below, or booleans, taken as 0 and 1."""
    if entry.dtype == "bool":
        return INTEGER_LIMIT
    if entry.limit:
        return max(entry.limit, entry.low + 1)
    return max(BYTE_LIMIT if entry.dtype == "uint8" else INTEGER_LIMIT, entry.low + INTEGER_LIMIT)


def made_up_sparse_tensor(parts: Mapping[str, Input], size: BatchSize, rng: np.random.RandomState) -> Arrays:
    """Returns one replica's values of the parts of a sparse tensor, by input name.

    Args:
      parts: {"indices", "values" or "shape": input}, see `sparse_groups`; a program may use only some of them.
      size: of the batch.
      rng: source of the random numbers.

    Returns:
      Values for the first columns of every row, in order: a row is one example, such as a list of words.
    """
    dense = _dense_shape(parts, size)
    columns = min(dense[1] if len(dense) > 1 else 1, ENTRIES_OF_A_ROW)
    rows = np.repeat(np.arange(dense[0]), columns)
    indices = np.zeros([len(rows), len(dense)], np.int64)
    indices[:, 0] = rows
    if len(dense) > 1:
        indices[:, 1] = np.tile(np.arange(columns), dense[0])
    found: Arrays = {}
    for part, entry in parts.items():
        if part == INDICES:
            found[entry.name] = indices.astype(entry.dtype)
        elif part == SHAPE:
            found[entry.name] = np.array(dense).astype(entry.dtype)
        else:
            flat = entry_with_shape(entry, [len(rows)])
            found[entry.name] = made_up_values(flat, size, rng)
    return found


def entry_with_shape(entry: Input, shape: Sequence[int]) -> Input:
    """Returns an input whose made-up values have a given shape."""
    return dataclasses.replace(entry, example=list(shape), kind="whole")


def _dense_shape(parts: Mapping[str, Input], size: BatchSize) -> List[int]:
    """Returns the dense shape of a sparse tensor: rows are examples, columns as many as the graph can take."""
    shape = parts[SHAPE].shape if SHAPE in parts else None
    indices = parts[INDICES].shape if INDICES in parts else None
    rank = (shape[0] if shape else None) or (indices[1] if indices and len(indices) == 2 else None) or RANK
    bounds = [parts[part].limit for part in (INDICES,) if part in parts and parts[part].limit]
    return [size.replica] + [bounds[0] if bounds else OPEN] * (rank - 1)


def part_of_whole(entry: Input, entries: Sequence[Input]) -> Input | None:
    """Returns the input that holds each tower's part of what all towers get whole; None if there is no such one.

    Args:
      entry: what all towers get.
      entries: all inputs.

    Returns:
      The input; its parts joined are `entry`.
    """
    parts = [other for other in entries if other.origin == entry.origin and other.kind == "batch" and not other.sparse]
    source, _, output = entry.origin.rpartition(":")  # of whose outputs but the first one a placeholder has the number
    is_whole = entry.kind == "same" and entry.tensors[0] in (entry.origin, f"{source}__{output}:0")
    return parts[0] if is_whole and len(parts) == 1 and parts[0].dtype == entry.dtype else None


def tie_parts(entries: Sequence[Input], shards: Sequence[Arrays]) -> None:
    """Makes what all replicas get whole agree with the parts of it that each of them gets.

    A program may split a batch among its towers and use the whole of it besides, for instance for its size.

    Args:
      entries: inputs.
      shards: {input: values} of each replica; changed.
    """
    for entry in entries:
        part = part_of_whole(entry, entries)
        if part is None:
            continue
        joined = np.concatenate([shard[part.name] for shard in shards])
        if joined.shape == shards[0][entry.name].shape or None in (entry.shape or [None]):
            for shard in shards:
                shard[entry.name] = joined


def sparse_groups(entries: Sequence[Input]) -> dict[str, dict[str, Input]]:
    """Returns {sparse tensor: {part: input}} of the inputs that are parts of sparse tensors.

    Several inputs may be values at the same indices, as the weights beside ids are: "values", "values 2" and so on.
    """
    groups: dict[str, dict[str, Input]] = {}
    for entry in entries:
        if entry.sparse:
            name, _, part = entry.sparse.rpartition("/")
            group = groups.setdefault(name, {})
            group[f"{part} {len(group)}" if part in group else part] = entry
    return groups


def is_shared_tensor(parts: Mapping[str, Input]) -> bool:
    """Returns whether all replicas get the same sparse tensor, whose parts `sparse_groups` tells."""
    return all(entry.is_shared for entry in parts.values())


def dealt_rows(parts: Mapping[str, Input], values: Mapping[str, np.ndarray], replica: int, rows: int) -> Arrays:
    """Returns one replica's part of a sparse tensor: its rows, numbered from 0.

    Args:
      parts: {"indices", "values" or "shape": input}.
      values: {input: array}, of all replicas together.
      replica: number of the replica.
      rows: rows of one replica.

    Returns:
      {input: array} of the parts.
    """
    found = {entry.name: values[entry.name] for entry in parts.values()}
    indices = found[parts[INDICES].name]
    own = (indices[:, 0] >= replica * rows) & (indices[:, 0] < (replica + 1) * rows)
    shift = np.zeros(indices.shape[1:], indices.dtype)
    shift[0] = replica * rows
    found[parts[INDICES].name] = indices[own] - shift
    for name in [entry.name for part, entry in parts.items() if part not in (INDICES, SHAPE)]:
        found[name] = found[name][own]
    if SHAPE in parts:
        shape = found[parts[SHAPE].name].copy()
        shape[0] = rows
        found[parts[SHAPE].name] = shape
    return found
