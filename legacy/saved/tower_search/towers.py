"""Finds the towers: the copies of the model, one a device, that share variables and compute on parts of a batch.

Candidate labellings of the nodes (see `labellings`) are tried and judged by the data flow alone: in true towers
nearly every node that depends on data depends on the data of *one* label. Layers called conv1, conv2 make labels too,
but each depends on the one before.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
from collections.abc import Collection, Mapping, Sequence

from legacy.saved.graph import gradient_names, op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.batch_slices import DATA, batch_slices
from legacy.saved.tower_search.labellings import SMALLEST_TOWER, Labelling, labellings
from legacy.saved.tower_search.settings import is_scalar_setting
from workloads.lifted.graph import Graph, TensorId


@dataclasses.dataclass(frozen=True)
class Towers:
    """The towers of a graph.

    Attributes:
      count: number of towers.
      found_by: how they were told apart, in words.
      masks: {node: bit set}: bit 0 (`DATA`) if the node depends on data, bit 1 + k if it depends on tower k.
      labels: {node: k} as the labelling has it.
      slices: nodes that take a tower's part of a common batch.
    """

    count: int
    found_by: str
    masks: dict[str, int]
    labels: dict[str, int]
    slices: set[str]

    def tower_of(self, name: str) -> int | None:
        """Returns the only tower that a node depends on, or None."""
        mask = self.masks.get(name, 0) >> 1
        return mask.bit_length() - 1 if mask and mask & (mask - 1) == 0 else None

    def is_common(self, name: str) -> bool:
        """Returns whether a node depends on data but on no tower: it is upstream of all towers."""
        return self.masks.get(name, 0) == DATA

    def is_shared(self, name: str) -> bool:
        """Returns whether a node depends on several towers."""
        mask = self.masks.get(name, 0) >> 1
        return mask & (mask - 1) != 0


def find_towers(
    graph: Graph, imported: ImportedGraph, variables: Collection[str], update_inputs: Sequence[TensorId]
) -> Towers:
    """Returns the towers of a graph; one tower with all nodes if no labelling fits.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      variables: names of the variables.
      update_inputs: tensors that update ops take; the data flow of true towers joins there.

    Returns:
      `Towers` of the labelling with the highest score.
    """
    settings = {name for name in graph.nodes if is_scalar_setting(graph, imported, name)}
    flow = _TowerFlow(graph, imported, settings, update_inputs)
    backward = {name for name in graph.nodes if gradient_names.is_gradient_op(name)} or set(graph.nodes)
    model = graph.ancestors(backward, controls=False) & graph.descendants(set(variables), controls=False)
    best, best_score = None, 0
    for labelling in labellings(graph):
        candidate = flow.towers(labelling)
        score = 0 if _is_leaky(graph, candidate) else _score(candidate, update_inputs, model)
        if score > best_score:
            best, best_score = candidate, score
    return best or flow.towers(Labelling("there is one", {name: 0 for name in graph.nodes}))


def _is_leaky(graph: Graph, towers: Towers) -> bool:
    """Returns whether a tower takes a tensor right out of another one: then they are layers, or something else."""
    for name in towers.masks:
        tower = towers.tower_of(name)
        if tower is not None:
            others = {towers.tower_of(producer) for producer, _ in graph.inputs(name)} - {None, tower}
            if others:
                return True
    return False


def _score(towers: Towers, update_inputs: Sequence[TensorId], model: Collection[str]) -> int:
    """Returns how well towers explain the data flow; 0 if they are unequal or never meet.

    Args:
      towers: a candidate.
      update_inputs: see `find_towers`.
      model: nodes between variables and gradients. What only prepares data may well belong to no tower, and an
        optimizer that was written by hand belongs to all.

    Returns:
      The number of nodes in one tower, less the model's nodes in several or in none.
    """
    sizes = collections.Counter(towers.tower_of(name) for name in towers.masks)
    sizes.pop(None, None)
    if len(sizes) < towers.count or min(sizes.values()) < SMALLEST_TOWER * max(sizes.values()):
        return 0
    every = (1 << towers.count) - 1
    met = [towers.masks.get(name, 0) >> 1 for name, _ in update_inputs]
    # They may also never meet in one tensor: each tower may update the variables by itself.
    if every not in met and functools.reduce(operator.or_, met, 0) != every:
        return 0
    outside = sum(towers.is_shared(name) or towers.is_common(name) for name in model if name in towers.masks)
    return sum(sizes.values()) - outside


class _TowerFlow:
    """The data flow of a graph from its sources and from each tower's nodes.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      settings: placeholders that bring in no data.
      update_inputs: see `find_towers`.
    """

    def __init__(
        self, graph: Graph, imported: ImportedGraph, settings: Collection[str], update_inputs: Sequence[TensorId]
    ) -> None:
        self._graph, self._imported = graph, imported
        self._settings, self._update_inputs = settings, update_inputs
        self._order = graph.order(set(graph.nodes))
        self._shapes = {name for name in self._order if graph.type(name) in op_types.SHAPE_OPS}

    def towers(self, labelling: Labelling) -> Towers:
        """Returns the towers of a labelling, without the nodes that take their parts of a common batch."""
        labels, count = labelling.labels, len(set(labelling.labels.values()))
        slices: set[str] = set()
        while True:
            masks = self._masks(labels, slices)
            found = batch_slices(self._graph, self._imported, masks, labels, slices) if count > 1 else set()
            if not found:
                break
            slices |= found
        if not any(masks.get(name, 0) & DATA for name, _ in self._update_inputs):
            masks = self._masks(labels, slices, all_are_data=True)  # the data are constants, or kept in variables
        return Towers(count, labelling.found_by, masks, labels, slices)

    def _masks(self, labels: Mapping[str, int], slices: Collection[str], all_are_data: bool = False) -> dict[str, int]:
        """Returns {node: bit set}, see `Towers`. A node's label counts only if it depends on data.

        Args:
          labels: {node: tower number}.
          slices: nodes outside of the towers in spite of their labels.
          all_are_data: whether every labelled node with inputs counts as data.
        """
        graph = self._graph
        sources = {
            name: DATA
            for name in self._order
            if (graph.type(name) == "Placeholder" and name not in self._settings)
            or op_types.is_random(graph.type(name))
            or (all_are_data and name in labels and graph.inputs(name))
        }
        data = graph.flow(self._order, sources, controls=False, stop=self._shapes)
        data = {name: mask | sources.get(name, 0) for name, mask in data.items()}
        own = {
            name: 2 << labels[name]
            for name, mask in data.items()
            if mask and name in labels and graph.type(name) != "Placeholder" and name not in slices
        }
        # A tower's backward pass may use what is made from all towers, such as a weight by the global batch's count:
        # its gradient ops still belong to the tower, so nothing flows into them.
        backward = {name for name in own if gradient_names.is_gradient_op(name)}
        arriving = graph.flow(self._order, own, controls=False, stop=self._shapes | backward)
        return {name: data[name] | mask | own.get(name, 0) for name, mask in arriving.items()}
