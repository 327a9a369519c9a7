"""Finds the towers: the copies of the model, one a device, that share variables and compute on parts of a batch.

Candidate labellings of the nodes (see `labelling`) are tried and judged by the data flow alone: in true towers nearly
every node that depends on data depends on the data of *one* label. Layers called conv1, conv2 make labels too, but each
depends on the one before. A tower may take a few tensors of another one, such as its loss; see `Leak`.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
from collections.abc import Collection, Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.inputs.settings import is_scalar_setting
from legacy.saved.tower_search.branches import are_branches, may_be_towers
from legacy.saved.tower_search.different_parts import NO_FORWARD, different_parts
from legacy.saved.tower_search.joint_paths import PATHS, are_joint_paths
from legacy.saved.tower_search.labelling.labellings import SMALLEST_TOWER, Labelling, Source, labellings
from legacy.saved.tower_search.labelling.own_gradients import labellings_by_gradients
from legacy.saved.tower_search.tower_flow import TowerFlow
from legacy.saved.tower_search.towers import Towers
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors import gradient_names

#: Factor by which a labelling by suffixes of names must explain more than one by devices or scopes.
SUFFIX_MARGIN = 1.1
#: Of a tower's forward nodes, at most this share may depend on another tower; of layers, all do.
MOST_LEAKING = 0.25


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
    search = _Search(graph, imported, TowerFlow(graph, imported, settings, update_inputs, weights), variables, weights)
    for labelling in labellings(graph):
        search.judge(labelling)
    if search.best is None:  # it may be a loop that gives its towers no names at all
        for labelling in labellings_by_gradients(graph, update_inputs):
            search.judge(labelling)
    if search.best is not None:
        return search.best
    nothing = Labelling(Source.NOTHING, "there is one", {name: 0 for name in graph.nodes})
    return dataclasses.replace(search.flow.towers(nothing), doubt=search.doubt)


class _Search:
    """The towers that explain a graph best, of the labellings judged so far.

    Attributes:
      flow: the data flow that towers are found with.
      best: the towers; None if no labelling fits.
      doubt: why devices that look like towers are none; see `_doubt`.
    """

    def __init__(
        self,
        graph: Graph,
        imported: ImportedGraph,
        flow: TowerFlow,
        variables: Collection[str],
        weights: Collection[str],
    ) -> None:
        self.flow, self._graph, self._imported, self._weights = flow, graph, imported, weights
        self.best: Towers | None = None
        self.doubt = ""
        self._score = 0.0
        self._best_readers: set[str] = set()
        self._tried: set[frozenset[tuple[str, int]]] = set()
        backward = {name for name in graph.nodes if gradient_names.is_gradient_op(name)} or set(graph.nodes)
        of_variables = graph.descendants(set(variables), controls=False)
        self._model = graph.ancestors(backward, controls=False) & of_variables
        # What combines each variable's gradients has numbers, too, and lies behind all models.
        self._in_models = of_variables - (graph.descendants(backward, controls=False) - backward)
        self._readers = self._model & _readers(graph, weights)

    def judge(self, labelling: Labelling) -> None:
        """Keeps the towers of a labelling if they are the best so far, or notes why devices are none."""
        if self.doubt and labelling.source in (Source.SUFFIXES, Source.GRADIENTS):
            return  # of what stands on several devices by its author's will, numbers of names tell nothing
        labelled = frozenset(labelling.labels.items())
        in_numbers = {number for name, number in labelling.labels.items() if name in self._in_models}
        if labelled in self._tried or len(in_numbers) < len(set(labelling.labels.values())):
            return
        self._tried.add(labelled)
        graph, candidate = self._graph, self.flow.towers(labelling)
        if not may_be_towers(graph, labelling, candidate, self.flow.targets, self._weights):
            return
        score = float(_score(candidate, self.flow.update_inputs, self._model))
        score /= SUFFIX_MARGIN if labelling.source is Source.SUFFIXES else 1.0
        readers = self._readers & labelling.labels.keys()
        is_refuted, by_devices = self._is_refuted(candidate, score, readers), labelling.source is Source.DEVICES
        parts = "" if is_refuted and not by_devices else different_parts(graph, candidate, self._weights)
        if not is_refuted and not parts and are_joint_paths(graph, self._imported, candidate, self.flow.targets):
            parts = PATHS
        if not is_refuted and not parts and not are_branches(graph, candidate, self._weights):
            self.best, self._score, self._best_readers = candidate, score, readers
        elif by_devices:
            self.doubt = self.doubt or _doubt(graph, candidate, parts)

    def _is_refuted(self, candidate: Towers, score: float, readers: Collection[str]) -> bool:
        """Returns whether towers explain the graph no better than the best so far, or hold fewer of its layers."""
        if (
            score <= self._score
            or _is_leaky(self._graph, candidate)
            or _crosses_more(self._graph, candidate, self.best)
        ):
            return True
        if self.best is not None and _within(candidate, self._readers) < _within(self.best, self._readers):
            return True
        return bool(self._best_readers) and not readers


def _readers(graph: Graph, weights: Collection[str]) -> set[str]:
    """Returns the forward nodes that take the values of weights, as layers do.

    What stands behind all layers, such as the losses of two heads, may be as alike as towers; it has the heads alone.
    """
    found, seen = set(), set(weights) & graph.nodes.keys()
    todo = list(seen)
    while todo:
        users = {use.node for use in graph.users(todo.pop())} - seen
        passed = {name for name in users if graph.type(name) in (*op_types.READS, "Cast")}
        found |= {name for name in users - passed if not gradient_names.is_gradient_op(name)}
        seen |= passed
        todo += passed
    return found


def _within(towers: Towers, nodes: Collection[str]) -> set[str]:
    """Returns those of some nodes that one tower has."""
    return {name for name in nodes if towers.tower_of(name) is not None}


def _crosses_more(graph: Graph, towers: Towers, best: Towers | None) -> bool:
    """Returns whether towers take tensors of each other where others that were found do not.

    So it is where what prepares two inputs before any tower, as "map" and "map_1" do, is counted to two towers.
    """
    return best is not None and next(towers.leaks(graph), None) is not None and next(best.leaks(graph), None) is None


def _doubt(graph: Graph, towers: Towers, parts: str) -> str:
    """Returns a sentence on devices that look like towers, but take each other's results or have parts of a model.

    Args:
      graph: the subgraph that a step runs.
      towers: the candidate, which was refused.
      parts: why the devices have different parts of one program; "" if they may be copies.
    """
    backward = {tower for name, tower in towers.labels.items() if gradient_names.is_gradient_op(name)}
    leak = next(towers.leaks(graph), None)
    if len(backward) < towers.count or leak is None and not parts:
        return ""
    why = parts if parts in (NO_FORWARD, PATHS) else f"they have different parts of the program: {parts}"
    if leak is not None and parts != PATHS:
        why = f"what tower {leak.tower} computes is made from what tower {leak.other} computes: "
        why += f"{leak.user} takes {leak.tensor.name}"
    return f"the {towers.count} devices with backward passes are taken together as one tower, since {why}"


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
