"""`Towers`: the copies of the model in a graph, and the tower that each node depends on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from legacy.saved.tower_search.batch_slices import DATA
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Input
from workloads.lifted.tensors import gradient_names


class Leak(NamedTuple):
    """A tensor of one tower that another one takes.

    Attributes:
      tower: the tower that takes it.
      other: the tower that computes it.
      tensor: the tensor.
      user: the node that takes it.
    """

    tower: int
    other: int
    tensor: TensorId
    user: str


@dataclasses.dataclass(frozen=True)
class Towers:
    """The towers of a graph.

    Attributes:
      count: number of towers.
      found_by: how they were recognised, in words.
      masks: {node: bit set}: bit 0 (`DATA`) if the node depends on data, bit 1 + k if it depends on tower k.
      labels: {node: k} as the labelling has it.
      slices: nodes that take a tower's part of a common batch.
      doubt: why the graph's devices, which each have a backward pass, are not taken as towers; usually empty.
    """

    count: int
    found_by: str
    masks: dict[str, int]
    labels: dict[str, int]
    slices: set[str]
    doubt: str = ""

    def tower_of(self, name: str) -> int | None:
        """Returns the only tower that a node depends on, or None."""
        return only_tower_of(self.masks.get(name, 0))

    def labelled_tower_of(self, name: str) -> int | None:
        """Returns the tower that computes a node: by its label where it depends on several; None for none."""
        return self.labels.get(name) if self.is_shared(name) else self.tower_of(name)

    def leaks(self, graph: Graph) -> Iterator[Leak]:
        """Yields the first tensors that the forward pass of a tower takes from another one."""
        for name, tower in self.labels.items():
            if self.is_shared(name) and not gradient_names.is_gradient_op(name):
                for tensor in graph.inputs(name):
                    other = self.tower_of(tensor.node)
                    if other not in (None, tower):
                        yield Leak(tower, other, tensor, name)

    def is_common(self, name: str) -> bool:
        """Returns whether a node depends on data but on no tower: it is upstream of all towers."""
        return self.masks.get(name, 0) == DATA

    def is_shared(self, name: str) -> bool:
        """Returns whether a node depends on several towers."""
        return is_of_several(self.masks.get(name, 0))


def only_tower_of(mask: int) -> int | None:
    """Returns the only tower in a mask of `Towers`, or None."""
    towers = mask >> 1
    return towers.bit_length() - 1 if towers and towers & (towers - 1) == 0 else None


def is_of_several(mask: int) -> bool:
    """Returns whether a mask of `Towers` has several towers."""
    towers = mask >> 1
    return towers & (towers - 1) != 0


def owners(masks: Mapping[str, int]) -> dict[str, int]:
    """Returns {node: tower} of the nodes that depend on one tower only, from their masks; see `Towers`."""
    found = {name: only_tower_of(mask) for name, mask in masks.items()}
    return {name: tower for name, tower in found.items() if tower is not None}


def taker_alone(graph: Graph, towers: Towers, entry: Input) -> int | None:
    """Returns the only tower that uses an input; what others differentiate of that tower's results is no use of theirs.

    Args:
      graph: the subgraph that a step runs.
      towers: its towers.
      entry: an input of one array.

    Returns:
      The tower; None where several do, none does, or each has an array of its own.
    """
    tensors = set(entry.tensors)
    if len(tensors) != 1:
        return None
    tensor = parse_tensor_name(tensors.pop())
    owned = {name for name, mask in towers.masks.items() if mask >> 1}
    users = {use.node for use in graph.users(tensor.node) if use.output == tensor.output}
    users = {name for name in users if not gradient_names.is_gradient_op(name)} or users
    found = 0
    for name in users | graph.descendants(users - owned, controls=False, stop=owned):
        found |= towers.masks.get(name, 0)
    return only_tower_of(found)
