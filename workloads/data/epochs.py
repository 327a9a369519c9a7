"""Order of the examples of data that end: which of them each step gets, as a function of the step.

>>> epochs = Epochs(5, Order(2, shuffle=False))
>>> [epochs.rows(step).tolist() for step in range(4)]
[[0, 1], [2, 3], [4, 0], [1, 2]]
>>> epochs = Epochs(5, Order(2, shuffle=False, last_batch="drop"))
>>> [epochs.rows(step).tolist() for step in range(4)]
[[0, 1], [2, 3], [0, 1], [2, 3]]
"""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Tuple

import numpy as np

from workloads.numerics import random_keys
from workloads.support.errors import require

if TYPE_CHECKING:
    from typing import OrderedDict

#: Epochs whose order is kept: a batch can have the end of one and the beginning of the next.
_KEPT = 2


@dataclasses.dataclass(frozen=True)
class Order:
    """The order in which a run takes examples.

    Attributes:
      size: examples of a step, the global batch.
      seed: of the shuffling.
      shuffle: whether each epoch has an order of its own, drawn from seed and epoch; else that of the data.
      last_batch: the last examples of an epoch, where they are fewer than a batch: "fill", with the first ones of the
        next epoch, or "drop". See `Workload.last_batch`.
      may_repeat: whether a batch may have an example twice, where there are fewer than it takes; only with "fill".
    """

    size: int
    seed: int = 0
    shuffle: bool = True
    last_batch: str = "fill"
    may_repeat: bool = False

    def check_count(self, what: str, count: int) -> None:
        """Raises `InputError` unless `count` examples are enough.

        Args:
          what: beginning of the message.
          count: number of examples.
        """
        enough = 1 if self.may_repeat else self.size
        require(count >= enough, what, f"{count} examples", f"fewer than --global_batch={self.size}")

    def describe(self) -> str:
        """Returns the order without size and seed, which a job names itself; see `Job.data`."""
        last = {"fill": "filled", "drop": "dropped"}[self.last_batch]
        return f"{'shuffled' if self.shuffle else 'in order'}, last batch {last}"


class Epochs:
    """Numbers of the examples of each step.

    Args:
      count: number of examples, at least `order.size` where `order.last_batch` is "drop".
      order: in which they are taken.
    """

    def __init__(self, count: int, order: Order) -> None:
        self._count, self._order = count, order
        self._permutations: OrderedDict[int, np.ndarray] = collections.OrderedDict()

    def rows(self, step: int) -> np.ndarray:
        """Returns the numbers of a step's examples, int64 [size]."""
        size = self._order.size
        if self._order.last_batch == "drop":
            epoch, batch = divmod(step, self._count // size)
            return self._permutation(epoch)[batch * size : (batch + 1) * size]
        first, last = step * size, (step + 1) * size
        parts = []
        for epoch in range(first // self._count, (last - 1) // self._count + 1):
            start = epoch * self._count
            parts.append(self._permutation(epoch)[max(first - start, 0) : last - start])
        return np.concatenate(parts)

    def ends(self) -> Tuple[int, ...]:
        """Returns the first step in which the data end and begin anew, or the last before."""
        last = self._count // self._order.size if self._order.last_batch == "drop" else self.steps(1)
        return (last - 1,)

    def steps(self, epochs: int) -> int:
        """Returns the number of steps that take every example `epochs` times, but for those that are dropped."""
        if self._order.last_batch == "drop":
            return epochs * (self._count // self._order.size)
        return -(-epochs * self._count // self._order.size)

    def _permutation(self, epoch: int) -> np.ndarray:
        """Returns the order of the examples in an epoch; the last ones asked for are kept."""
        if not self._order.shuffle:
            return np.arange(self._count)
        if epoch not in self._permutations:
            rng = random_keys.generator("shuffle", self._order.seed, epoch)
            self._permutations[epoch] = rng.permutation(self._count)
            while len(self._permutations) > _KEPT:
                self._permutations.popitem(last=False)
        return self._permutations[epoch]
