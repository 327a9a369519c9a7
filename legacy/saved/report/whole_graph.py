"""A saved graph as a whole, with its towers by name or device: what can be seen even where nothing trains."""

from __future__ import annotations

import collections

from legacy.saved.analysis.labellings import SMALLEST_TOWER, labellings
from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from workloads.lifted.graph import Graph, split

#: Ops that do most of a model's arithmetic, with their gradients'.
COMPUTE = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter")


class Whole:
    """
    Attributes:
      graph: `Graph` of all nodes.
      labels: {node: tower}, empty if no towers are told apart; a gradient op belongs where its forward op does.
      count: number of towers, 1 if none are told apart.
      found_by: how they were told apart.
      applies: nodes that update a trainable variable.
      reach: nodes whose data reach an update.
    """

    def __init__(self, saved):
        self.graph = Graph(saved.graph_def)
        self.trainable = set(saved.collections.get("trainable_variables", []))
        self.found_by, labels = _labels(self.graph)
        variables = {name for name in self.graph.nodes if self.graph.type(name) in op_types.VARIABLES}
        # A variable, and its own reads and assignments, belong to no tower, wherever they were made.
        self.labels = {n: t for n, t in labels.items() if n not in variables and n.rpartition("/")[0] not in variables}
        self.count = len(set(self.labels.values())) or 1
        self.applies = [name for name in self.graph.nodes if op_types.is_apply(self.graph.type(name))]
        self.reach = self.graph.ancestors(self.applies, controls=False) if self.applies else set()

    def towers(self):
        """Numbers of the towers."""
        return range(self.count)

    def backward(self, tower):
        """Nodes of a tower's backward pass."""
        return [n for n, t in self.labels.items() if t == tower and "_grad/" in n]

    def towers_of(self, names):
        """The set of towers that nodes are labelled with."""
        return {self.labels[name] for name in names if name in self.labels}

    def value(self, name):
        """The value of a scalar Const, seen through Identity and Cast; None for anything else."""
        while self.graph.type(name) in ("Identity", "Cast") and self.graph.inputs(name):
            name = self.graph.inputs(name)[0][0]
        return constant(self.graph.nodes[name])

    def flops(self):
        """{node: floating-point operations} of products whose shapes are known, one example where the batch is not."""
        try:
            imported = ImportedGraph(self.graph)
        except (ValueError, TypeError):
            return {}
        found = {}
        for name in self.graph.nodes:
            if self.graph.type(name) in COMPUTE:
                found[name] = _flops(self.graph, imported, name)
        return found

    def variable_of(self, apply):
        """Name of the variable that an update op writes, or None."""
        name = self.graph.inputs(apply)[0][0] if self.graph.inputs(apply) else None
        while name is not None and self.graph.type(name) not in op_types.VARIABLES:
            before = self.graph.inputs(name)
            name = before[0][0] if before else None
        return name


def constant(node):
    """The number that a scalar Const holds, or None."""
    import numpy as np
    from tensorflow import make_ndarray

    if node.op != "Const":
        return None
    value = make_ndarray(node.attr["value"].tensor)
    return value.item() if np.size(value) == 1 and value.dtype.kind in "if" else None


def _labels(graph):
    """(how, {node: tower}) of the labelling with the most nodes, if each tower computes something backwards.

    Names are believed before devices: an op may be placed where its variable is.
    """
    best, most = ("no towers were told apart", {}), 0.0
    for found_by, labels in labellings(graph):
        back = collections.Counter(tower for name, tower in labels.items() if "_grad/" in name)
        if len(back) < len(set(labels.values())) or min(back.values()) < SMALLEST_TOWER * max(back.values()):
            continue
        if _layers(graph, labels):
            continue
        worth = len(labels) * (1.0 if found_by.startswith("device") else 1.5)
        if worth > most:
            best, most = (found_by, labels), worth
    return best


def _layers(graph, labels):
    """Whether some label's forward nodes feed another's: then they are layers and not towers."""
    crossings = sum(
        1
        for name, tower in labels.items()
        for producer, _ in graph.inputs(name)
        if "_grad/" not in name and labels.get(producer, tower) != tower and graph.type(producer) not in ("Const",)
    )
    return crossings > 0.02 * len(labels)


def _flops(graph, imported, name):
    operands = [imported.shape(*tensor) for tensor in graph.inputs(name)[:2]] + [imported.shape(name, 0)]
    if any(shape is None for shape in operands):
        return 0
    first, second, result = ([d or 1 for d in shape] for shape in operands)
    size = 1
    for dimension in result:
        size *= dimension
    if graph.type(name).startswith("Conv"):
        kernel = result if "Filter" in graph.type(name) else second
        return 2 * size * _product(kernel[:3])
    node = graph.nodes[name]
    inner = first[-2] if node.attr["transpose_a"].b or node.attr["adj_x"].b else first[-1]
    return 2 * size * inner


def _product(values):
    made = 1
    for value in values:
        made *= value
    return made


def ancestors_of(graph, tensors):
    """Nodes that the tensors called so need."""
    return graph.ancestors([split(tensor)[0] for tensor in tensors], controls=False)
