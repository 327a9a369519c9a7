"""`OwnExamples`: batches of the old program's own data, kept in a lift where made-up ones do not run in its graph.

Labels that must fit the lengths beside them, or boxes inside of their image, are hard to make up. The program's own
rows fit each other; drawn in another order, they make as many batches as a comparison needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

import numpy as np

if TYPE_CHECKING:
    from workloads.lifted.made_up_data import BatchSize
    from workloads.lifted.plan import Input
    from workloads.program import Arrays


class OwnExamples:
    """Batches of the old program's own data.

    Where every array of a batch has one row for each example, rows are drawn; otherwise, as with sparse tensors or
    sequences of packed words, batches are given as they are.

    Args:
      batches: {input: array} of each tower in the first step, of each tower in the second one, and so on.
      towers: number of towers.
      entries: the inputs.

    Attributes:
      batches: as given.
      has_rows: whether rows are drawn.
    """

    def __init__(self, batches: Sequence[Arrays], towers: int, entries: Sequence[Input]) -> None:
        self.batches, self._towers = batches, towers
        self._names = [entry.name for entry in entries if entry.kind != "setting"]
        has_rows = all(entry.kind in ("batch", "setting") and not entry.sparse for entry in entries)
        self.has_rows = has_rows and all(len({len(batch[n]) for n in self._names}) == 1 for batch in batches)

    def draw(self, step: int, replica: int, size: BatchSize, rng: np.random.RandomState) -> Arrays:
        """Draws one replica's batch.

        Args:
          step: number of the step.
          replica: number of the replica.
          size: of the batch; batches that have no rows are of their own size.
          rng: source of the random numbers.

        Returns:
          {input: array}, scalars included.
        """
        if not self.has_rows:
            steps = len(self.batches) // self._towers
            return dict(self.batches[step % steps * self._towers + replica % self._towers])
        batch = self.batches[(step * size.replicas + replica) % len(self.batches)]
        count = len(batch[self._names[0]]) if self._names else 0
        if not count:
            return dict(batch)
        rows = rng.permutation(np.arange(max(size.replica, count)) % count)[: size.replica]
        return {name: value[rows] if name in self._names else value for name, value in batch.items()}
