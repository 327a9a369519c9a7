"""A whole saved graph, with its towers recognised by name or device: works even where a graph trains nothing."""

from __future__ import annotations

import collections
from collections.abc import Iterable

import numpy as np
import tensorflow as tf

from legacy.saved.graph import op_types
from legacy.saved.graph.gradient_names import is_gradient_op
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.tower_search.labellings import SMALLEST_TOWER, labellings
from workloads.lifted.graph import Graph, parse_tensor_name

#: If more than this share of the labelled nodes takes data from another label, the labels are layers and not towers.
MOST_CROSSINGS = 0.02
#: Names are believed rather than devices, by this factor: an op may be placed where its variable is.
NAMES_BEFORE_DEVICES = 1.5


class WholeGraph:
    """A saved graph with labels of towers and the nodes that update variables.

    Attributes:
      graph: all nodes.
      trainable: names of the trainable variables, as far as the file tells.
      labels: {node: tower}; empty if no towers were recognised. A gradient op belongs where its forward op does.
      count: number of towers, 1 if none were recognised.
      found_by: the naming or placement by which the towers were recognised, in words.
      applies: update rules: the nodes that update a trainable variable.
      reach: nodes that an update rule depends on.
    """

    def __init__(self, saved: SavedGraph) -> None:
        self.graph = Graph(saved.graph_def)
        self.trainable = set(saved.collections.get("trainable_variables", []))
        self.found_by, labels = _labels(self.graph)
        variables = {name for name in self.graph.nodes if self.graph.type(name) in op_types.VARIABLES}
        # A variable, and its own reads and assignments, belong to no tower, wherever they were made.
        self.labels = {n: t for n, t in labels.items() if n not in variables and n.rpartition("/")[0] not in variables}
        self.count = len(set(self.labels.values())) or 1
        self.applies = [name for name in self.graph.nodes if op_types.is_apply(self.graph.type(name))]
        self.reach = self.graph.ancestors(self.applies, controls=False) if self.applies else set()

    def towers(self) -> range:
        """Numbers of the towers."""
        return range(self.count)

    def backward(self, tower: int) -> list[str]:
        """Nodes of a tower's backward pass."""
        return [name for name, t in self.labels.items() if t == tower and is_gradient_op(name)]

    def towers_of(self, names: Iterable[str]) -> set[int]:
        """The set of towers that some nodes are labelled with."""
        return {self.labels[name] for name in names if name in self.labels}

    def value(self, name: str) -> float | None:
        """The value of a scalar Const, also seen through Identity and Cast; None for anything else."""
        while self.graph.type(name) in ("Identity", "Cast") and self.graph.inputs(name):
            name = self.graph.inputs(name)[0][0]
        return scalar_constant(self.graph.nodes[name])

    def variable_of(self, apply: str) -> str | None:
        """Name of the variable that an update op writes, or None."""
        name = self.graph.inputs(apply)[0][0] if self.graph.inputs(apply) else None
        while name is not None and self.graph.type(name) not in op_types.VARIABLES:
            before = self.graph.inputs(name)
            name = before[0][0] if before else None
        return name


def scalar_constant(node: tf.compat.v1.NodeDef) -> float | None:
    """Returns the number that a Const with one element holds; None for any other node."""
    if node.op != "Const":
        return None
    shape = node.attr["value"].tensor.tensor_shape
    if any(dimension.size != 1 for dimension in shape.dim):
        return None
    value = tf.make_ndarray(node.attr["value"].tensor)
    return value.item() if np.size(value) == 1 and value.dtype.kind in "if" else None


def ancestors_of_tensors(graph: Graph, tensors: Iterable[str]) -> set[str]:
    """Returns the nodes that the tensors of some names are computed from."""
    return graph.ancestors([parse_tensor_name(tensor)[0] for tensor in tensors], controls=False)


def _labels(graph: Graph) -> tuple[str, dict[str, int]]:
    """(found by, {node: tower}) of the labelling with the most nodes in which every tower has a backward pass."""
    best: tuple[str, dict[str, int]] = ("no towers were told apart", {})
    most = 0.0
    for found_by, labels in labellings(graph):
        backward = collections.Counter(tower for name, tower in labels.items() if is_gradient_op(name))
        if len(backward) < len(set(labels.values())):
            continue
        if min(backward.values()) < SMALLEST_TOWER * max(backward.values()) or _are_layers(graph, labels):
            continue
        worth = len(labels) * (1.0 if found_by.startswith("device") else NAMES_BEFORE_DEVICES)
        if worth > most:
            best, most = (found_by, labels), worth
    return best


def _are_layers(graph: Graph, labels: dict[str, int]) -> bool:
    """Whether the forward nodes of some label feed another's: then the labels are layers and not towers."""
    crossings = [
        producer
        for name, tower in labels.items()
        for producer, _ in graph.inputs(name)
        if not is_gradient_op(name) and labels.get(producer, tower) != tower and graph.type(producer) != "Const"
    ]
    return len(crossings) > MOST_CROSSINGS * len(labels)
