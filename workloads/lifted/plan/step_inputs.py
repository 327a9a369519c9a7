"""Inputs of a lifted training step: data, random numbers and variables."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from workloads.lifted.plan.json_records import OMIT_EMPTY
from workloads.lifted.plan.records import LoopCounter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclasses.dataclass
class Input:
    """Data that enter the graph.

    Attributes:
      name: key of these data in a batch.
      dtype: its name.
      shape: of one replica's share; None for dimensions that the graph leaves open, or if the rank is not known.
      kind: "batch" or "whole" (cut along the first dimension; only a "batch" has as many rows as examples),
        "same batch" (all towers get the same examples), "same" (all towers get the same array) or "setting" (a scalar).
      limit: for integers, and floats that the graph takes as integers, the number that all must be below; 0 if the
        graph sets none.
      tensors: the tensors that it replaces, one for each tower; a single one if it is not a tower's.
      origin: the tensor of the whole graph that it is, or is made from.
      example: shape of one replica's made-up values, with None for its number of examples, where the graph leaves
        dimensions open that must fit each other or its variables; empty if any sizes fit.
      low: the least that made-up integers may be; negative where the program's own data are, as -1 for no label.
      sparse: "NAME/indices", "NAME/values" or "NAME/shape" of a part of the sparse tensor NAME; empty if it is dense.
      value: of a "setting", the text of its value in every step; empty if the lift was given none.
      recorded: of a "setting" that is a learning rate, the text of its value in every recorded step, which is assumed
        where a value is needed; made-up data have other ones, too.
      has_full: of lengths, whether one of them at least is the greatest, as of a batch that is as wide as its longest
        example.
      is_share: of a "setting", whether the graph takes one minus it, as of the share of units that are dropped.
    """

    name: str
    dtype: str
    shape: Optional[List[Optional[int]]]
    kind: str
    limit: int
    tensors: List[str]
    origin: str
    example: List[Optional[int]] = dataclasses.field(default_factory=list, metadata={OMIT_EMPTY: True})
    low: int = dataclasses.field(default=0, metadata={OMIT_EMPTY: True})
    sparse: str = dataclasses.field(default="", metadata={OMIT_EMPTY: True})
    value: str = dataclasses.field(default="", metadata={OMIT_EMPTY: True})
    recorded: str = dataclasses.field(default="", metadata={OMIT_EMPTY: True})
    has_full: bool = dataclasses.field(default=False, metadata={OMIT_EMPTY: True})
    is_share: bool = dataclasses.field(default=False, metadata={OMIT_EMPTY: True})

    @property
    def has_examples(self) -> bool:
        """Whether its rows are one replica's examples."""
        return self.kind in ("batch", "same batch")

    @property
    def is_shared(self) -> bool:
        """Whether all replicas get the same array."""
        return self.kind in ("same", "same batch")

    @property
    def shares_parts(self) -> bool:
        """Whether some towers take one part of it, and others another."""
        return 1 < len(set(self.tensors)) < len(self.tensors)

    def first_taker(self, tower: int) -> int:
        """Returns the first tower that takes a tower's tensor; for a number that the graph lacks, that number."""
        return self.tensors.index(self.tensors[tower]) if tower < len(self.tensors) else tower

    @property
    def is_copied(self) -> bool:
        """Whether it is no batch of examples, such as a table of vectors: each example of a port has a copy.

        What all towers get may be the whole batch where its length is open.
        """
        dense = bool(self.shape) and not self.sparse
        of_one_size = (self.example or self.shape or [None])[0] is not None
        return dense and (self.kind == "whole" or (self.kind == "same" and of_one_size))

    def is_dealt_as(self, example: Sequence[int], rows: Optional[int]) -> bool:
        """Returns whether a port deals its rows out to replicas, though the old graph takes them whole.

        Args:
          example: shape of one of the port's examples.
          rows: examples of all towers; None if the graph takes any number, 0 if the port deals nothing out.

        Returns:
          Whether it has a row for each example.
        """
        if self.kind != "same" or self.sparse or not self.shape or len(self.shape) != 1 + len(example):
            return False
        is_row = all(size in (None, other) for size, other in zip(self.shape[1:], example))
        return is_row and rows != 0 and self.shape[0] in (None, rows)


@dataclasses.dataclass
class Noise:
    """Random numbers that a step draws.

    Attributes:
      name: name of the stream: that of the first random node.
      op: op type of the random nodes.
      how: "keyed" (drawn by the op's stateless twin) or "seeded" (drawn by the op itself, with a fixed seed).
      nodes: the random nodes, one for each tower, None for a tower without; a single one if it is no tower's.
      in_loop: whether they are drawn in a `while` loop; such numbers can neither be recorded nor given.
      loops: {node: its loop} of nodes that draw by a key of its own in each iteration.
    """

    name: str
    op: str
    how: str
    nodes: List[Optional[str]]
    in_loop: bool = False
    loops: Dict[str, LoopCounter] = dataclasses.field(default_factory=dict)

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> Noise:
        """Returns the random numbers that `Plan.to_json` wrote as `content`."""
        loops = {node: LoopCounter(*loop) for node, loop in content.get("loops", {}).items()}
        return Noise(**dict(content, loops=loops))


@dataclasses.dataclass
class Variable:
    """A variable that a step reads or changes.

    Attributes:
      name: name of its node.
      shape: as in the checkpoint that was lifted.
      dtype: its name.
      role: "weight", "slot", "average", "statistic" or "state" (of one tower, such as a recurrent state).
      of: the weight that a slot or an average belongs to.
      tower: the tower that a state belongs to.
      resource: whether it is a resource variable; otherwise a reference variable.
      initializer: of a weight, what the old graph draws its first value by: "constant 0.0", "truncated_normal 0.1" (the
        standard deviation before truncation) or "glorot_uniform"; empty where that is not known.
    """

    name: str
    shape: List[int]
    dtype: str
    role: str
    of: str = ""
    tower: Optional[int] = None
    resource: bool = False
    initializer: str = dataclasses.field(default="", metadata={OMIT_EMPTY: True})
