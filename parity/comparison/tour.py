"""`Tour`: observes the steps of a comparison, and chooses further states from which both sides take one more step."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import NamedTuple

from workloads.program import State, StepRecord


class Visit(NamedTuple):
    """A state from which both sides take one more step.

    It is left out where an op of the left side does not run with its numbers: no run of the program reaches it.

    Attributes:
      name: in reports: "step 350,000 (at a boundary of the learning rate)".
      state: the state.
      has_random_weights: whether its weights were drawn at random.
      may_overflow: whether it is compared under "exact" alone where the left side's step overflows: a port whose
        formula overflows later, such as that of a cross-entropy, has the same mathematics.
      may_underflow: whether it is left out where gradients differ by underflow alone, as with weights near zero.
    """

    name: str
    state: State
    has_random_weights: bool = False
    may_overflow: bool = False
    may_underflow: bool = False


class Tour(abc.ABC):
    """Observes the steps of a comparison, and chooses visits by the states and values that they had."""

    @abc.abstractmethod
    def observe(self, before: State, record: StepRecord, visit: Visit | None) -> None:
        """Looks at a compared step.

        Args:
          before: the left side's state before the step.
          record: the left side's record.
          visit: the visit that it is, or None.
        """

    @abc.abstractmethod
    def visits(self, last: State) -> Iterator[Visit]:
        """Yields the states to visit after the ordinary steps, which ended in the state `last`.

        The next one is asked for when the one before was compared and observed.
        """
