"""`StreamBatches`: global batches cut from a stream of examples, or of batches of any size, that can be begun anew."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Dict, Optional

import numpy as np

from workloads.data.batches import Batches, Request
from workloads.support.errors import InputError, require

if TYPE_CHECKING:
    from typing import OrderedDict

    from workloads.program import Arrays

#: Batches that are kept besides the first: programs look at one more than once.
_KEPT = 2


class StreamBatches(Batches):
    """Batches of a stream, which is read in order and begun anew where it ends.

    For a step before those that were read, as after a state was loaded, the stream is begun anew and read up to it. All
    passes are the same, so that after the first one no step is far.

    Args:
      what: beginning of messages.
      start: begins the stream: each element is {name: array} of an example, or of some examples, a row for each.
      request: of the job.
    """

    def __init__(self, what: str, start: Callable[[], Iterable[Any]], request: Request) -> None:
        self._what, self._start, self._request = what, start, request
        self._stream: Optional[Iterator[Arrays]] = None
        self._next = 0
        self._count: Optional[int] = None  # examples of a pass
        self._beginning: Optional[_Part] = None  # of every pass
        self._first: Optional[Arrays] = None
        self._recent: OrderedDict[int, Arrays] = collections.OrderedDict()

    @property
    def count(self) -> Optional[int]:
        return self._count

    @property
    def is_read_in_order(self) -> bool:
        return True

    def batch(self, step: int) -> Arrays:
        if self._place(step) == 0 and self._first is not None:
            return self._first
        while self._place(step) not in self._recent:
            if self._stream is None or self._place(step) < self._next:
                self._stream, self._next = self._batches(), 0
            self._read(self._stream)
        return self._recent[self._place(step)]

    def _place(self, step: int) -> int:
        """Returns the first step that has the batch of `step`; `step` itself until the data have ended once."""
        if self._count is None:
            return step
        size = self._request.order.size
        if self._request.order.last_batch == "drop":
            return step % (self._count // size)
        return step % (self._count // math.gcd(self._count, size))

    def _read(self, stream: Iterator[Arrays]) -> None:
        """Reads the next batch; a stream that fails is begun anew if it is asked again."""
        self._stream = None
        batch = next(stream)
        place = self._place(self._next)  # now that a pass may have ended
        if place == 0:
            self._first = self._first or batch
        self._recent[place] = batch
        while len(self._recent) > _KEPT:
            self._recent.popitem(last=False)
        self._stream, self._next = stream, self._place(place + 1)

    def _batches(self) -> Iterator[Arrays]:
        """Yields full batches without end; what is left of a pass is carried into the next one, or dropped."""
        size, drop = self._request.order.size, self._request.order.last_batch == "drop"
        rest: Optional[_Part] = None
        while True:
            count = 0
            for part in self._parts():
                if not count:
                    self._check_beginning(part)
                count += part.count
                joined = part if rest is None else rest.joined(part)
                for first in range(0, joined.count - size + 1, size):
                    yield self._request.check(self._what, joined.rows(first, first + size), size)
                left = joined.count % size
                rest = joined.from_row(joined.count - left) if left else None
            require(count, self._what, "no example", "there must be at least one")
            self._request.order.check_count(self._what, count)
            self._count = count
            rest = None if drop else rest

    def _check_beginning(self, part: _Part) -> None:
        """Raises `InputError` unless a pass begins as the first one did."""
        self._beginning = self._beginning or part
        again, allowed = part.has_bits_of(self._beginning), "must be the same each time: seed all shuffles"
        require(again, self._what, "other examples when begun anew", allowed)

    def _parts(self) -> Iterator[_Part]:
        """Yields what one pass over the stream gives, in portions of at least one example."""
        elements = iter(self._start())
        size = self._request.order.size
        for first in elements:
            selected = self._selected(first)
            if not self._is_example(selected):
                yield self._part(selected)
                continue
            examples = [selected, *(self._selected(each) for each in itertools.islice(elements, size - 1))]
            yield self._part({name: self._stacked(name, examples) for name in selected})

    def _selected(self, element: Any) -> Arrays:
        """Returns the inputs of an element of the stream."""
        if not isinstance(element, Mapping):
            raise InputError(f"{self._what}: got {type(element).__name__}, every element must be {{input name: array}}")
        return {name: np.asarray(value) for name, value in self._request.select(self._what, element).items()}

    def _is_example(self, values: Arrays) -> bool:
        """Returns whether an element is one example, without a batch dimension; else a batch."""
        ranks = {name: wanted.rank for name, wanted in self._request.inputs.items() if wanted.rank is not None}
        return bool(ranks) and all(values[name].ndim == rank for name, rank in ranks.items())

    def _stacked(self, name: str, examples: list[Arrays]) -> np.ndarray:
        shapes = sorted({example[name].shape for example in examples})
        require(
            len(shapes) == 1, self._what, shapes, f"{name!r} must have one shape: {self._request.inputs[name].text}"
        )
        return np.stack([example[name] for example in examples])

    def _part(self, values: Arrays) -> _Part:
        """Returns a batch with the number of its examples; all of `values` if no input has a row for each."""
        counts = {
            name: values[name].shape[0]
            for name, wanted in self._request.inputs.items()
            if wanted.rank is not None and values[name].ndim
        }
        shapes = ", ".join(f"{name} {list(values[name].shape)}" for name in values)
        require(len(set(counts.values())) <= 1, self._what, shapes, "inputs must have equally many rows")
        count = next(iter(counts.values()), self._request.order.size)
        return _Part(self._what, count, {name: name in counts for name in values}, values)


class _Part:
    """Some examples of a stream.

    Args:
      what: beginning of messages.
      count: number of examples.
      has_rows: {name: whether the array has a row for each example}; others belong to the batch as it came.
      values: {name: array}.
    """

    def __init__(self, what: str, count: int, has_rows: Dict[str, bool], values: Arrays) -> None:
        self.count = count
        self._what, self._has_rows, self._values = what, has_rows, values

    def has_bits_of(self, other: _Part) -> bool:
        """Returns whether these are the same examples."""
        return all(value.tobytes() == other._values[name].tobytes() for name, value in self._values.items())

    def rows(self, first: int, end: int) -> Arrays:
        """Returns the examples from `first` to before `end`."""
        if (first, end) == (0, self.count):
            return self._values
        self._require_rows()
        return {name: value[first:end] if self._has_rows[name] else value for name, value in self._values.items()}

    def from_row(self, first: int) -> _Part:
        """Returns the examples from `first` on."""
        return _Part(self._what, self.count - first, self._has_rows, self.rows(first, self.count))

    def joined(self, other: _Part) -> _Part:
        """Returns these examples and those of `other`."""
        self._require_rows()
        values = {
            name: np.concatenate([value, other._values[name]]) if self._has_rows[name] else other._values[name]
            for name, value in self._values.items()
        }
        return _Part(self._what, self.count + other.count, self._has_rows, values)

    def _require_rows(self) -> None:
        """Raises `InputError` if the examples cannot be cut into other batches than those in which they came."""
        for name, value in self._values.items():
            allowed = f"must be the global batch: {name!r} has no row for each example, so that it cannot be cut"
            require(self._has_rows[name] or not value.ndim, self._what, f"a batch of {self.count}", allowed)
