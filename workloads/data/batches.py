"""Global batches of the user's own data, as a function of the step, before they are cut for the replicas."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Tuple

import numpy as np

from workloads.data.epochs import Epochs, Order
from workloads.support.errors import require

if TYPE_CHECKING:
    import tensorflow as tf

    from workloads.program import Arrays


class Wanted(NamedTuple):
    """An input that data must have.

    Attributes:
      rank: number of dimensions of one example; None where any is taken.
      text: its dtype and shape, for messages.
    """

    rank: Optional[int]
    text: str


class Request(NamedTuple):
    """A job's demands on data.

    Attributes:
      order: in which it takes the examples.
      inputs: {name: `Wanted`}.
      check: function from {name: array [count, ...]} of these inputs and the count to the arrays to use; raises
        `InputError`, which begins with the name of the data.
    """

    order: Order
    inputs: Mapping[str, Wanted]
    check: Callable[[str, Arrays, int], Arrays]

    def select(self, what: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the entries of `values` that are inputs.

        Args:
          what: beginning of messages.
          values: {name: array, or anything else}.

        Returns:
          {input name: value}.

        Raises:
          InputError: one is missing.
        """
        for name, wanted in self.inputs.items():
            have = ", ".join(sorted(map(str, values))) or "nothing"
            require(name in values, what, have, f"it must have {name!r}: {wanted.text}")
        return {name: values[name] for name in self.inputs}


class Batches(abc.ABC):
    """Global batches; any step's can be asked for, in any order."""

    @property
    def count(self) -> Optional[int]:
        """Number of examples of an epoch; None while that is not known."""
        return None

    @property
    def is_read_in_order(self) -> bool:
        """Whether the batches before a step must be read to have that step's."""
        return False

    @abc.abstractmethod
    def batch(self, step: int) -> Arrays:
        """Returns {input name: array [global batch, ...]}, checked, in the dtypes of the data."""

    def ends(self) -> Tuple[int, ...]:
        """Returns the first steps in which the data end and begin anew; none if that is not known."""
        return ()

    def steps(self, epochs: int) -> Optional[int]:
        """Returns the number of steps in so many epochs; None if the number of examples is not known."""
        return None

    def full_dataset(self) -> Optional[tf.data.Dataset]:
        """Returns a new dataset of one pass whose every batch is a full one; None where there is no such dataset."""
        return None


class Data(abc.ABC):
    """Data of the user's own, which can be handed to another process.

    Attributes:
      name: of the data in messages, such as "--data=digits.npz".
      description: tells these data from others; see `Job.data`.
    """

    name: str
    description: str

    @abc.abstractmethod
    def batches(self, request: Request) -> Batches:
        """Returns the global batches that a job asks for.

        Raises:
          InputError: the data are not what it asks for.
        """


class ArrayBatches(Batches):
    """Batches of arrays that hold all examples; they are checked once, as a whole.

    Args:
      what: beginning of messages, such as "--data=digits.npz".
      arrays: {name: array [count, ...]}; those that are no inputs are left out.
      request: of the job.

    Raises:
      InputError: arrays are missing, or of another shape or kind, or hold fewer examples than a batch.
    """

    def __init__(self, what: str, arrays: Arrays, request: Request) -> None:
        arrays = request.select(what, arrays)
        lengths = {np.shape(array)[:1] for array in arrays.values()}
        shapes = ", ".join(f"{name} {list(np.shape(array))}" for name, array in arrays.items())
        require(len(lengths) == 1 and () not in lengths, what, shapes, "arrays must have equal lengths")
        count = self._count = lengths.pop()[0]
        request.order.check_count(what, count)
        self._arrays = request.check(what, arrays, count)
        self._epochs = Epochs(count, request.order)

    @property
    def count(self) -> Optional[int]:
        return self._count

    def batch(self, step: int) -> Arrays:
        rows = self._epochs.rows(step)
        return {name: array[rows] for name, array in self._arrays.items()}

    def ends(self) -> Tuple[int, ...]:
        return self._epochs.ends()

    def steps(self, epochs: int) -> Optional[int]:
        return self._epochs.steps(epochs)
