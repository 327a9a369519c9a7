"""`Piece`: a function cut out of an old graph, with its inputs and outputs; and the builder that `Cutter` fills."""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, AbstractSet, Any, Dict, List, NamedTuple, Optional, Set, Tuple, Union

import tensorflow as tf

from workloads.lifted.graph import TensorId
from workloads.lifted.graph.edits import add_constant

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

v1 = tf.compat.v1


class VariableVersion(NamedTuple):
    """The value of a variable after some of a step's changes.

    Attributes:
      variable: its name.
      version: number of changes that the value contains.
    """

    variable: str
    version: int


class Feed(NamedTuple):
    """One input of a piece.

    Attributes:
      kind: "cut", "read", "noise" or "drawn".
      key: of a "read", the `VariableVersion`; of a "cut", the tensor's name; of "noise", the name of a random node,
        which takes an int32 [2] key; of "drawn", the name of a random tensor, which takes the numbers themselves.
      placeholder: name of the placeholder in the piece.
      shape: its shape; None if not even the rank is known. The placeholder itself has no known rank where it is a
        scalar of a graph from before TensorFlow 1.0.
    """

    kind: str
    key: Union[str, VariableVersion]
    placeholder: str
    shape: Optional[Tuple[Optional[int], ...]] = None


class Fetch(NamedTuple):
    """A tensor that a piece computes, as one node sees it: of a variable, nodes may read different versions.

    Attributes:
      tensor: its name.
      user: the node whose `ReadVersion` of the variable is meant.
    """

    tensor: str
    user: str


class Piece(NamedTuple):
    """A function as a GraphDef.

    Attributes:
      graph_def: the GraphDef.
      feeds: its inputs.
      fetches: names of the tensors in it that it computes.
    """

    graph_def: Any
    feeds: List[Feed]
    fetches: List[str]

    @property
    def reads(self) -> list[VariableVersion]:
        """Versions of variables that it reads."""
        return [feed.key for feed in self.feeds if isinstance(feed.key, VariableVersion)]


class PieceBuilder:
    """A piece that is being cut: its nodes so far, its inputs, and the nodes that are still to be added.

    Args:
      producer: `versions` field of the graph's GraphDef.
      cuts: tensors that are given.
      versions: {(node, variable): version} where it is not 0.
      taken: (predicate, output of its Switches) of branches that are computed as if they were taken.
    """

    def __init__(
        self,
        producer: Any,
        cuts: AbstractSet[TensorId],
        versions: Mapping[Tuple[Optional[str], str], int],
        taken: Collection[Tuple[TensorId, int]],
    ) -> None:
        self.result = v1.GraphDef(versions=producer)
        self.cuts = cuts
        self.versions = versions
        self.taken = taken
        self.seen: Set[str] = set()
        self.todo: List[str] = []
        self.feeds: Dict[Tuple[str, Union[str, VariableVersion]], Feed] = collections.OrderedDict()

    def feed(self, kind: str, key: str | VariableVersion, dtype: str, shape: Sequence[int | None] | None) -> str:
        """Returns the name of the placeholder for an input, which is added if it is new.

        Args:
          kind: see `Feed`.
          key: see `Feed`.
          dtype: name of the placeholder's dtype.
          shape: the placeholder's shape; None if not even the rank is known.

        Returns:
          The placeholder's name.
        """
        if (kind, key) not in self.feeds:
            label = key if isinstance(key, str) else f"{key.variable}_{key.version}"
            name = "feed_{}_{}".format(len(self.feeds), re.sub(r"[^A-Za-z0-9_]", "_", label))
            self.feeds[kind, key] = Feed(kind, key, name, None if shape is None else tuple(shape))
            node = self.result.node.add(name=name, op="Placeholder")
            node.attr["dtype"].type = tf.as_dtype(dtype).as_datatype_enum
            node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
        return self.feeds[kind, key].placeholder

    def constant(self, name: str, value: int) -> str:
        """Returns the name of a new int32 scalar constant."""
        add_constant(self.result, name, value, tf.int32)
        return name
