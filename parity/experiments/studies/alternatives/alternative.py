"""One way to run a job, which a study compares with others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from parity.comparison.setup import Setup
from parity.speed.names import LEGACY
from workloads.program import Program


class Alternative(NamedTuple):
    """One way to run a job.

    Attributes:
      name: of its row in a table.
      side: "legacy" or "modern".
      setup: the job and its options.
      streamed: whether batches are read ahead while others are timed.
      variables: ((environment variable, text), ...) of its process.
    """

    name: str
    side: str
    setup: Setup
    streamed: bool = False
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def steps_per_call(self) -> int:
        """Steps that it takes in one call."""
        return 1 if self.side == LEGACY else self.setup.modern.steps_per_call

    def make_program(self) -> Program:
        """Makes the program of its side."""
        return self.setup.legacy_program() if self.side == LEGACY else self.setup.modern_program()


@contextlib.contextmanager
def warmed_up(alternative: Alternative, steps: int) -> Iterator[Program]:
    """Context of an alternative's program, which has taken `steps` steps."""
    with alternative.make_program() as program:
        if steps:
            program.run(steps)
        yield program
