"""Finds the towers: the copies of the model, one a device, that share variables and compute on parts of a batch.

Candidate labellings of the nodes (see `labellings`) are tried and judged by the data flow alone: in true towers
nearly every node that depends on data depends on the data of *one* label. Layers called conv1, conv2 make labels too,
but each depends on the one before. A tower may take a few tensors of another one, such as its loss; see `Leak`.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.tower_search.batch_slices import DATA, batch_slices
from legacy.saved.tower_search.labellings import SMALLEST_TOWER, Labelling, Source, labellings
from legacy.saved.tower_search.settings import is_scalar_setting
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors import gradient_names

#: Factor by which a labelling by suffixes of names must explain more than one by devices or scopes.
SUFFIX_MARGIN = 1.1
#: Of a tower's forward nodes, at most this share may depend on another tower; of layers, all do.
MOST_LEAKING = 0.25


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
        mask = self.masks.get(name, 0) >> 1
        return mask.bit_length() - 1 if mask and mask & (mask - 1) == 0 else None

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
        mask = self.masks.get(name, 0) >> 1
        return mask & (mask - 1) != 0


def find_towers(
    graph: Graph,
    imported: ImportedGraph,
    variables: Collection[str],
    update_inputs: Sequence[TensorId],
    weights: Collection[str] = (),
) -> Towers:
    """Returns the towers of a graph; one tower with all nodes if no labelling fits.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      variables: names of the variables.
      update_inputs: tensors that update ops take; the data flow of true towers joins there.
      weights: names of the variables that are trained.

    Returns:
      `Towers` of the labelling with the highest score; one by suffixes of names must be better by a margin.
    """
    settings = {name for name in graph.nodes if is_scalar_setting(graph, imported, name)}
    flow = _TowerFlow(graph, imported, settings, update_inputs, weights)
    backward = {name for name in graph.nodes if gradient_names.is_gradient_op(name)} or set(graph.nodes)
    model = graph.ancestors(backward, controls=False) & graph.descendants(set(variables), controls=False)
    best, best_score, doubt = None, 0.0, ""
    tried: set[frozenset[tuple[str, int]]] = set()
    for labelling in labellings(graph):
        labelled = frozenset(labelling.labels.items())
        if labelled in tried:
            continue
        tried.add(labelled)
        candidate = flow.towers(labelling)
        score = float(_score(candidate, update_inputs, model))
        score /= SUFFIX_MARGIN if labelling.source is Source.SUFFIXES else 1.0
        if score > best_score and not _is_leaky(graph, candidate):
            best, best_score = candidate, score
        elif labelling.source is Source.DEVICES:
            doubt = doubt or _doubt(graph, candidate)
    one = best or flow.towers(Labelling(Source.NOTHING, "there is one", {name: 0 for name in graph.nodes}))
    return one if best else dataclasses.replace(one, doubt=doubt)


def _doubt(graph: Graph, towers: Towers) -> str:
    """Returns a sentence on devices that look like towers, but of which one takes much of what another computes."""
    backward = {tower for name, tower in towers.labels.items() if gradient_names.is_gradient_op(name)}
    leak = next(towers.leaks(graph), None)
    if leak is None or len(backward) < towers.count:
        return ""
    return (
        f"the {towers.count} devices with backward passes are taken together as one tower, since what tower "
        f"{leak.tower} computes is made from what tower {leak.other} computes: {leak.user} takes {leak.tensor.name}"
    )


def _is_leaky(graph: Graph, towers: Towers) -> bool:
    """Returns whether a tower takes tensors right out of another one, as layers do, and not only a few at its end."""
    crossed = any(
        {towers.tower_of(producer) for producer, _ in graph.inputs(name)} - {None, tower}
        for name, tower in ((name, towers.tower_of(name)) for name in towers.masks)
        if tower is not None
    )
    if not crossed:
        return False
    own: collections.Counter[int] = collections.Counter()
    mixed: collections.Counter[int] = collections.Counter()
    for name, tower in towers.labels.items():
        if towers.masks.get(name, 0) >> 1 and not gradient_names.is_gradient_op(name) and graph.type(name) != "Const":
            (mixed if towers.is_shared(name) else own)[tower] += 1
    even = len(own) == towers.count and min(own.values()) >= SMALLEST_TOWER * max(own.values())
    return not even or any(mixed[tower] > MOST_LEAKING * (own[tower] + mixed[tower]) for tower in own)


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
      weights: see `find_towers`.
    """

    def __init__(
        self,
        graph: Graph,
        imported: ImportedGraph,
        settings: Collection[str],
        update_inputs: Sequence[TensorId],
        weights: Collection[str],
    ) -> None:
        self._graph, self._imported = graph, imported
        self._settings, self._update_inputs = settings, update_inputs
        self._order = graph.order(set(graph.nodes))
        self._model = graph.descendants(set(weights), controls=False) if weights else set()
        self._backward: dict[str, list[str]] = collections.defaultdict(list)
        for name in graph.nodes:
            if gradient_names.is_gradient_op(name):
                self._backward[gradient_names.forward_name(name, graph.nodes) or ""].append(name)
        self._shapes = {name for name in self._order if graph.type(name) in op_types.SHAPE_OPS}
        self._data = self._dependent(self._sources())

    def towers(self, labelling: Labelling) -> Towers:
        """Returns the towers of a labelling, without the nodes that take their parts of a common batch."""
        labels, count = dict(labelling.labels), len(set(labelling.labels.values()))
        slices: set[str] = set()
        while True:
            masks = self._masks(labels, slices)
            if count > 1 and self._adopt(masks, labels):
                continue
            found = batch_slices(self._graph, self._imported, masks, labels, slices) if count > 1 else set()
            if not found:
                break
            slices |= found
        if not any(masks.get(name, 0) & DATA for name, _ in self._update_inputs):
            masks = self._masks(labels, slices, all_are_data=True)  # the data are constants, or kept in variables
        return Towers(count, labelling.found_by, masks, labels, slices)

    def _adopt(self, masks: Mapping[str, int], labels: dict[str, int]) -> bool:
        """Labels nodes that compute with weights and data and have no label, such as a lookup placed on the CPU.

        They belong to the tower whose nodes use them, if that is one; returns whether there were any.
        """
        adopted = False
        for name in reversed(self._order):
            if name in self._model and masks.get(name, 0) == DATA and name not in labels:
                tower = self._tower_of_users(name, masks, labels)
                if tower is not None:
                    labels.update((own, tower) for own in [name, *self._backward.get(name, [])] if own not in labels)
                    adopted = True
        return adopted

    def _tower_of_users(self, name: str, masks: Mapping[str, int], labels: Mapping[str, int]) -> int | None:
        """The label of all nodes that use a node and depend on data; None if they have none or several."""
        found = None
        for user, _, _ in self._graph.users(name):
            if masks.get(user, 0):
                tower = labels.get(user)
                if tower is None or found not in (None, tower):
                    return None
                found = tower
        return found

    def _sources(self) -> set[str]:
        """Returns the nodes that bring in data or random numbers."""
        types = {name: self._graph.type(name) for name in self._order}
        given = {name for name, op_type in types.items() if op_type == "Placeholder" and name not in self._settings}
        return given | {name for name, op_type in types.items() if op_types.is_random(op_type)}

    def _dependent(self, sources: Collection[str]) -> dict[str, int]:
        """Returns {node: `DATA` if it is one of some sources or depends on one, else 0}."""
        own = dict.fromkeys(sources, DATA)
        flow = self._graph.flow(self._order, own, controls=False, stop=self._shapes)
        return {name: mask | own.get(name, 0) for name, mask in flow.items()}

    def _masks(self, labels: Mapping[str, int], slices: Collection[str], all_are_data: bool = False) -> dict[str, int]:
        """Returns {node: bit set}, see `Towers`. A node's label counts only if it depends on data.

        Args:
          labels: {node: tower number}.
          slices: nodes outside of the towers in spite of their labels.
          all_are_data: whether every labelled node with inputs counts as data.
        """
        graph, data = self._graph, self._data
        if all_are_data:
            data = self._dependent(self._sources() | {name for name in labels if graph.inputs(name)})
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
