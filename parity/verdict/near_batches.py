"""Batches for visits: a visit to a far step of a stream gets the batch of an early step, which is read anyway."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

from workloads.sources import Source

if TYPE_CHECKING:
    from collections.abc import Callable

    import tensorflow as tf

    from parity.comparison.setup import Setup
    from workloads.job import Job
    from workloads.program import Arrays

#: Steps beyond those of the comparison that programs read ahead, or visits take.
MARGIN = 32


class NearBatches(Source):
    """A source that gives steps from `steps` on the batches of earlier steps, to avoid reading all batches up to them.

    A visit to step 100,000 then needs no 100,000 batches; on both sides it gets the same one.

    Args:
      job: the `Job`.
      make_source: function from the job to the source.
      steps: number of steps whose batches are their own.
    """

    def __init__(self, job: Job, make_source: Callable[[Job], Source], steps: int) -> None:
        super().__init__(job)
        self._source, self._steps = make_source(job), steps
        self.fixed, self.noise = self._source.fixed, self._source.noise
        self.copied, self.shared = self._source.copied, self._source.shared

    @property
    def has_pipeline(self) -> bool:
        return self._source.has_pipeline

    def shards(self, step: int) -> list[Arrays]:
        return self._source.shards(self._near(step))

    def shapes(self) -> dict[str, tuple[int | None, ...]]:
        return self._source.shapes()

    def batch(self, step: int) -> Arrays:
        return self._source.batch(self._near(step))

    def ends(self) -> tuple[int, ...]:
        return self._source.ends()

    def steps(self, epochs: int) -> int | None:
        return self._source.steps(epochs)

    def pipeline(self, step: int) -> tf.data.Dataset:
        return self._source.pipeline(self._near(step))

    def _near(self, step: int) -> int:
        return step % self._steps if self._source.is_read_in_order else step


def with_near_batches(setup: Setup, steps: int) -> Setup:
    """Returns a setup in which far steps get the batches of earlier ones.

    Args:
      setup: of a comparison.
      steps: that it takes besides visits.
    """
    make_source = functools.partial(NearBatches, make_source=setup.make_source, steps=steps + MARGIN)
    return dataclasses.replace(setup, make_source=make_source)
