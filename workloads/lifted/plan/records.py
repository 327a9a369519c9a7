"""Small records of a plan: types of tensors, places of nodes in loops and branches, and orders of nodes."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence


class TensorType(NamedTuple):
    """Static type of a tensor.

    Attributes:
      dtype: name of the dtype.
      shape: None for dimensions that the graph leaves open; None if not even the rank is known.
    """

    dtype: str
    shape: Optional[Sequence[Optional[int]]]  # evaluated where a plan's types are checked, also by Python 3.7


class LoopCounter(NamedTuple):
    """A `while` loop that a node is in.

    Attributes:
      frame: name of the loop's frame.
      counter: the int32 scalar tensor, inside the loop, that counts its iterations.
    """

    frame: str
    counter: str


class Condition(NamedTuple):
    """The branch of a `cond` that a node is in.

    Attributes:
      predicate: the boolean scalar tensor that decides.
      branch: the value of the predicate with which the node is run.
    """

    predicate: str
    branch: bool


class ReadVersion(NamedTuple):
    """A read of a variable after the step has changed it.

    Attributes:
      node: the node that reads.
      variable: name of the variable.
      version: number of changes, in this step, that the read value contains.
    """

    node: str
    variable: str
    version: int


class ControlDependency(NamedTuple):
    """An order of two nodes: `after` is run when `before` is done."""

    before: str
    after: str
