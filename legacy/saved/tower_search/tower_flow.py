"""The data flow of a labelled graph: the towers whose data and nodes each node depends on."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator, Mapping, Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.nodes_without_data import (
    gradients_without_data,
    numbers_of_rows,
    takers_of_kept_examples,
)
from legacy.saved.tower_search.batch_slices import DATA, batch_slices
from legacy.saved.tower_search.exchanging_layers import layers_behind_exchanges
from legacy.saved.tower_search.labelling.labellings import Labelling
from legacy.saved.tower_search.towers import Towers, is_of_several, owners
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors import gradient_names

#: Ops that a loss of all towers' losses is made of.
_SUMS = (
    "Add",
    "AddV2",
    "AddN",
    "Sum",
    "Mean",
    "Mul",
    "RealDiv",
    "Div",
    "Pack",
    *op_types.JOINS,
    "ExpandDims",
    "Identity",
)


class TowerFlow:
    """The data flow of a graph from its sources and from each tower's nodes.

    Args:
      graph: the subgraph that a step runs.
      imported: the same graph in TensorFlow.
      settings: placeholders that bring in no data.
      update_inputs: see `search.find_towers`.
      weights: see `search.find_towers`.

    Attributes:
      update_inputs: see `search.find_towers`.
      targets: nodes that are differentiated.
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
        self._settings, self.update_inputs = settings, update_inputs
        self._order = graph.order(set(graph.nodes))
        self._weights = set(weights)
        self._behind: set[str] = set()  # layers of the towers that continue behind what all of them exchange
        self._model = graph.descendants(set(weights), controls=False) if weights else set()
        self._backward: dict[str, list[str]] = collections.defaultdict(list)
        for name in graph.nodes:
            if gradient_names.is_gradient_op(name):
                self._backward[gradient_names.forward_name(name, graph.nodes) or ""].append(name)
        self._shapes = {name for name in self._order if graph.type(name) in op_types.SHAPE_OPS}
        self._data = self._dependent(self._sources())
        self.targets = differentiated(graph, graph.nodes)
        self._before_targets = graph.ancestors(self.targets, controls=False)

    def towers(self, labelling: Labelling) -> Towers:
        """Returns the towers of a labelling, without the nodes that take their parts of a common batch."""
        labels, count = self._handed_over(labelling.labels), len(set(labelling.labels.values()))
        slices: set[str] = set()
        self._behind = set()
        if count == 1:
            masks = self._masks(labels, slices)
            if self._have_no_data(masks):
                masks = self._masks(labels, slices, self._computed(labels))
            return Towers(count, labelling.found_by, masks, labels, slices)
        masks = self._behind_exchanges(labels, slices)
        together: dict[str, int] = {}
        if self._minimizes_one_loss(masks):
            together = dict.fromkeys(self._sums_of_all(masks, labels), (2 << count) - 2)
            masks = self._masks(labels, slices, (), together)
        while True:
            if not self._adopt(masks, labels):
                found = batch_slices(self._graph, self._imported, masks, labels, slices, self._model)
                if not found:
                    break
                slices |= found
            masks = self._masks(labels, slices, (), together)
        as_data = self._computed(labels) if self._have_no_data(masks) else self._as_data(masks, labels)
        masks = self._masks(labels, slices, as_data, together) if as_data else masks
        return Towers(count, labelling.found_by, masks, labels, slices)

    def _behind_exchanges(self, labels: dict[str, int], slices: Collection[str]) -> dict[str, int]:
        """Returns the masks after a tower's layers behind what all towers exchange are counted to that tower.

        Args:
          labels: {node: tower number}; what joins the towers' tensors loses its label.
          slices: see `_masks`.

        Returns:
          {node: bit set}.
        """
        masks = self._masks(labels, slices)
        self._behind, joining = layers_behind_exchanges(self._graph, masks, labels, self._weights, self._before_targets)
        for name in [own for forward in joining for own in (forward, *self._backward.get(forward, []))]:
            labels.pop(name, None)
        return self._masks(labels, slices) if self._behind else masks

    def _have_no_data(self, masks: Mapping[str, int]) -> bool:
        """Returns whether data flow to no update, as where they are constants, or kept in variables."""
        return not any(masks.get(name, 0) & DATA for name, _ in self.update_inputs)

    def _computed(self, labels: Mapping[str, int]) -> set[str]:
        """Returns the towers' nodes that have inputs: all of them count as data where there are no other data."""
        return {name for name in labels if self._graph.inputs(name)}

    def _as_data(self, masks: Mapping[str, int], labels: Mapping[str, int]) -> set[str]:
        """Returns the towers' nodes that count as data though no data flow to them; see `nodes_without_data`."""
        without_data = [name for name, _ in self.update_inputs if not masks.get(name, 0) & DATA]
        found = gradients_without_data(self._graph, without_data, masks, labels)
        found |= numbers_of_rows(self._graph, masks, labels, self._model)
        return found | takers_of_kept_examples(self._graph, self._imported, labels, self._weights)

    def _handed_over(self, given: Mapping[str, int]) -> dict[str, int]:
        """Labels what one tower prepares for another one alone as the other's, as where the first cuts all batches.

        What it prepares for several towers, as one batch that all take, belongs to none; that a gradient uses it, as of
        its loss in another tower's, tells nothing. No weight and no gradient is used to prepare data, and weights
        compute with it: what only leads to an update is no batch.
        """
        labels = dict(given)
        gradients = {name for name in self._order if gradient_names.is_gradient_op(name)}
        prepared = self._graph.ancestors(self._model, controls=False) - self._model
        prepared -= gradients | self._graph.descendants(gradients, controls=False)
        common: set[str] = set()
        for name in reversed(self._order):
            if name in labels and self._data[name] and name in prepared:
                users = [user for user, _, _ in self._graph.users(name) if self._data[user] and user not in gradients]
                towers = {labels[user] for user in users if user in labels}
                if common.intersection(users) or len(towers) > 1:
                    common.add(name)
                    del labels[name]
                elif towers and all(user in labels for user in users):
                    labels[name] = towers.pop()
        return labels

    def _adopt(self, masks: Mapping[str, int], labels: dict[str, int]) -> bool:
        """Labels nodes that compute with data and have no label, such as a lookup or a loss placed on the CPU.

        They belong to the tower whose nodes use them, if that is one, and if they compute with weights, too, or are in
        a name scope in which nodes of this tower alone do so, or look rows of a variable up, trained or not: a lookup
        is placed where its table is. Returns whether there were any.
        """
        adopted = False
        places = {**owners(masks), **labels}
        scopes = self._towers_of_scopes(places)
        for name in reversed(self._order):
            if masks.get(name, 0) == DATA and name not in labels:
                computes = name in self._model or self._looks_up(name)
                tower = self._tower_of_users(name, masks, labels) if computes else None
                within = next((scopes[scope] for scope in _scopes_around(name) if scope in scopes), set())
                if tower is None and len(within) == 1:
                    tower = self._tower_of_users(name, masks, places)
                    tower = tower if within == {tower} else None
                if tower is not None:
                    found = {own: tower for own in [name, *self._backward.get(name, [])] if own not in labels}
                    labels.update(found)
                    places.update(found)
                    adopted = True
        return adopted

    def _looks_up(self, name: str) -> bool:
        """Returns whether a node looks up rows of a variable."""
        graph = self._graph
        is_lookup = graph.type(name) in op_types.LOOKUPS
        return is_lookup and graph.type(graph.origin(graph.inputs(name)[0]).node) in op_types.VARIABLES

    def _towers_of_scopes(self, places: Mapping[str, int]) -> dict[str, set[int]]:
        """{name scope: the towers whose nodes in it compute with weights}, from {node: tower}."""
        found: dict[str, set[int]] = collections.defaultdict(set)
        for name in self._model:
            if name in places:
                found[name.rpartition("/")[0]].add(places[name])
        return found

    def _minimizes_one_loss(self, masks: Mapping[str, int]) -> bool:
        """Returns whether all that is differentiated is made from several towers: none minimizes a loss of its own."""
        return bool(self.targets) and all(is_of_several(masks.get(name, 0)) for name in self.targets)

    def _sums_of_all(self, masks: Mapping[str, int], labels: dict[str, int]) -> list[str]:
        """Finds what one loss of all towers' losses computes on a tower's device, as where the first GPU adds them up.

        What makes the loss has no label any longer.

        Args:
          masks: see `Towers`.
          labels: {node: tower number}, which is changed.

        Returns:
          The sums of a tower's gradient and a penalty's, which belong to all towers, unless every tower has a penalty
          of its own.
        """
        joint = [name for name in self._before_targets if name in labels and is_of_several(masks.get(name, 0))]
        if any(self._graph.type(name) not in _SUMS for name in joint):
            return []  # a layer takes what another device computes
        for name in [own for forward in joint for own in (forward, *self._backward.get(forward, []))]:
            labels.pop(name, None)
        sums = [name for name in self._order if self._adds_a_penalty(name, masks)]
        own = collections.Counter(self._tower_of_addends(name, labels) for name in sums)
        is_own = None not in own and len(own) == len(set(labels.values())) and len(set(own.values())) == 1
        return [] if is_own else sums

    def _tower_of_addends(self, name: str, labels: Mapping[str, int]) -> int | None:
        """The tower that all gradients which a node adds are labelled with; None if they are not one tower's."""
        towers = {labels.get(addend.node) for addend in self._graph.inputs(name)}
        return towers.pop() if len(towers) == 1 else None

    def _adds_a_penalty(self, name: str, masks: Mapping[str, int]) -> bool:
        """Returns whether a node adds a gradient without data to one with data: of one loss, no tower computes that."""
        addends = [tensor.node for tensor in self._graph.inputs(name)] if self._graph.type(name) == "AddN" else []
        are_gradients = any(map(gradient_names.is_gradient_op, addends))
        return are_gradients and len({bool(masks.get(addend, 0)) for addend in addends}) > 1

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

    def _masks(
        self,
        labels: Mapping[str, int],
        slices: Collection[str],
        as_data: Collection[str] = (),
        together: Mapping[str, int] | None = None,
    ) -> dict[str, int]:
        """Returns {node: bit set}, see `Towers`. A node's label counts only if it depends on data.

        Args:
          labels: {node: tower number}.
          slices: nodes outside of the towers in spite of their labels.
          as_data: further nodes that count as data.
          together: {node that belongs to all towers: their bits}.
        """
        graph, data = self._graph, self._data
        if as_data:
            data = self._dependent(self._sources() | set(as_data))
        own = {
            name: 2 << labels[name]
            for name, mask in data.items()
            if mask and name in labels and graph.type(name) != "Placeholder" and name not in slices
        }
        own.update(together or {})
        # A tower's backward pass may use what is made from all towers, such as a weight by the global batch's count:
        # its gradient ops still belong to the tower, so nothing flows into them.
        backward = {name for name in own if gradient_names.is_gradient_op(name)}
        arriving = graph.flow(self._order, own, controls=False, stop=self._shapes | backward | self._behind)
        return {name: data[name] | mask | own.get(name, 0) for name, mask in arriving.items()}


def _scopes_around(name: str) -> Iterator[str]:
    """Yields the name scopes around a node, the innermost one first."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name
