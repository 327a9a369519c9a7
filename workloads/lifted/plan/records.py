"""Small records of a plan: types of tensors, places of nodes in loops and branches, orders of nodes, races."""

from __future__ import annotations

import dataclasses
import re
from typing import List, NamedTuple, Optional, Sequence, Union


class TensorType(NamedTuple):
    """Static type of a tensor.

    Attributes:
      dtype: name of the dtype.
      shape: None for dimensions that the graph leaves open; None if not even the rank is known.
    """

    dtype: str
    shape: Optional[Sequence[Optional[int]]]  # evaluated where a plan's types are checked, also by Python 3.7


class OwnParts(NamedTuple):
    """Parts of what is computed once, such as a state of all examples, of which each tower takes its own.

    Attributes:
      whole: the variable, or the tensor, that is cut into parts.
      parts: the tensors, in the order of the towers.
    """

    whole: str
    parts: Sequence[str]


@dataclasses.dataclass
class ResultExchange:
    """An exchange of results between the towers within a step, and the tensors that enter each of them behind it.

    Attributes:
      early: tensors that leave the towers for it; each row has corresponding ones, one for each tower or None.
      returns: for each tower, tensors that enter it, made from what has left all towers by then.
      kept: for each tower, what later parts of it take from the part before this exchange.
    """

    early: List[List[Optional[str]]]
    returns: List[List[str]]
    kept: List[List[str]]


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


class Race(NamedTuple):
    """Two nodes that use one variable in no order that the graph demands: an update, and a read or another update.

    Attributes:
      variable: name of the variable.
      first, second: the nodes, in the order in which the step runs them.
      reader: the one of them that reads the variable; None where both change it.
    """

    variable: str
    first: str
    second: str
    reader: Optional[str] = None

    @property
    def read_is(self) -> str:
        """Place of the read: "before" or "after" the update; "" where nothing reads."""
        return "" if self.reader is None else "before" if self.reader == self.first else "after"

    @property
    def text(self) -> str:
        """The race in words.

        >>> Race("w", "average", "train", reader="average").text
        'w: average may use it before or after train; taken before'
        """
        if self.reader is None:
            return f"{self.variable}: changed by {self.first} and {self.second} in any order"
        update = self.second if self.reader == self.first else self.first
        return f"{self.variable}: {self.reader} may use it before or after {update}; taken {self.read_is}"

    @staticmethod
    def from_json(content: Union[str, Sequence[Optional[str]]]) -> Race:
        """Returns the race that a plan holds: its fields, or the text that the first lifts of this format have."""
        if not isinstance(content, str):
            return Race(*content)  # type: ignore[arg-type]  # the names are texts
        variable, _, rest = content.partition(": ")
        read = re.match(r"(\S+) may use it before or after (\S+); taken (before|after)$", rest)
        if read is None:
            first, second = re.findall(r"\S+", rest)[2:5:2]
            return Race(variable, first, second)
        reader, update, place = read.groups()
        return Race(variable, *((reader, update) if place == "before" else (update, reader)), reader)
