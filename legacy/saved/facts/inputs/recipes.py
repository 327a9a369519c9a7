"""Recipes of what iterators and queues give: two with equal ones give the same elements in the same order."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from workloads.lifted.graph import Graph
from workloads.lifted.graph.tensor_names import data_inputs

#: What names how something is made: equal for two that are equal, and a name where two of that kind never are.
Recipe = Hashable
#: Attributes of a node that do not change what it computes.
_NAMES = ("_class", "_output_shapes", "shared_name", "container", "config")
#: Beginnings of the types of ops whose results differ, or come in no fixed order.
_OPEN = ("Placeholder", "Variable", "VarHandleOp", "PyFunc", "EagerPyFunc", "Random", "ParallelInterleave")
#: Ends of the types of ops that hold elements in the order in which they are filled.
_QUEUES = ("FIFOQueue", "FIFOQueueV2")
#: Parts of the types of ops whose elements those who take them share.
_RESOURCES = ("Queue", "Reader", "Iterator")


def resources_behind(graph: Graph, source: str) -> set[str]:
    """Returns a source and the queues and readers that it is filled from, by the name under which they are shared."""
    found, todo = {source}, [source]
    while todo:
        for filler in _fillers(graph, todo.pop()):
            before = graph.ancestors([filler], controls=False)
            new = {name for name in before if _is_resource(graph.type(name))} - found
            found |= new
            todo += new
    shared = {name: graph.nodes[name].attr["shared_name"].s.decode() for name in found}
    return {shared[name] or name for name in found}


def _is_resource(kind: str) -> bool:
    """Whether an op holds elements for others; those that fill it or take from it do not."""
    takes = kind.startswith(("Queue", "Reader", "IteratorGetNext", "MakeIterator"))
    return not takes and any(part in kind for part in _RESOURCES)


def _fillers(graph: Graph, source: str) -> list[str]:
    """The ops that put elements into a queue."""
    users = graph.users(source) if graph.type(source).endswith(_QUEUES) else []
    return sorted({use.node for use in users if graph.type(use.node).startswith("QueueEnqueue")})


class Recipes:
    """Recipes of the sources of a graph: two with equal ones give the same elements in the same order.

    Args:
      graph: the whole graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._open = itertools.count(1)
        self._functions = {function.signature.name: function for function in graph.graph_def.library.function}
        self._numbers: dict[Hashable, int] = {}
        self._known: dict[str, Recipe] = {}
        self._is_filling = False

    def of_source(self, source: str) -> Recipe:
        """Returns the recipe of what an iterator or a queue gives; one of its own if that is not known."""
        if self._graph.type(source).endswith(_QUEUES):
            return self._of_queue(source)
        if self._graph.type(source) == "OneShotIterator":
            return self._of_function(self._graph.nodes[source].attr["dataset_factory"].func.name)
        made = [use.node for use in self._graph.users(source) if self._graph.type(use.node) == "MakeIterator"]
        if len(made) != 1:
            return (source,)
        return self._of_tensor(self._graph.nodes, self._graph.nodes[made[0]].input[0], "", {})

    def _of_queue(self, queue: str) -> Recipe:
        fillers = _fillers(self._graph, queue)
        if len(fillers) != 1 or queue in self._known:
            return (queue,)  # filled in turns, by feeds alone, or from itself
        self._known[queue] = (queue,)
        self._is_filling = True
        nodes, filler = self._graph.nodes, self._graph.nodes[fillers[0]]
        inputs = tuple(self._of_tensor(nodes, text, "", {}) for text in filler.input[1:] if not text.startswith("^"))
        self._known[queue] = self._numbered((nodes[queue].op, filler.op, self._attributes(nodes[queue].attr), inputs))
        return self._known[queue]

    def _of_function(self, name: str) -> Recipe:
        function = self._functions.get(name)
        if function is None:
            return (name,)
        nodes = {node.name: node for node in function.node_def}
        places = {argument.name: place for place, argument in enumerate(function.signature.input_arg)}
        outputs = [function.ret[argument.name] for argument in function.signature.output_arg]
        return tuple(self._of_tensor(nodes, text, name, places) for text in outputs)

    def _of_tensor(self, nodes: Mapping[str, Any], text: str, owner: str, places: Mapping[str, int]) -> Recipe:
        """The recipe of a tensor, as an input names it.

        Args:
          nodes: those of the graph, or of the function that it is in.
          text: the name, such as "a", "a:1" or in a function "a:output:0".
          owner: name of the function; "" for the graph.
          places: {argument of the function: its place}.

        Returns:
          The recipe; one of its own where equal ops need not have equal results.
        """
        name, _, output = text.partition(":")
        if not owner and text in self._known:
            return self._known[text]
        if name not in nodes:
            return ("argument", places.get(name, name))
        node = nodes[name]
        inputs = data_inputs(node)
        if not owner and node.op.endswith(_QUEUES):
            return self._of_queue(name)
        is_open = node.op.startswith(_OPEN) and not _shuffles_one_name(nodes, node)
        if is_open or _is_without_seed(node.op, [nodes.get(text.partition(":")[0]) for text in inputs]):
            is_anew = owner or self._is_filling  # for each iterator, and for each run that fills a queue
            return (name, is_anew and next(self._open))
        recipes = tuple(self._of_tensor(nodes, before, owner, places) for before in inputs)
        recipe = self._numbered((node.op, output, self._attributes(node.attr), recipes))
        if not owner:
            self._known[text] = recipe
        return recipe

    def _numbered(self, recipe: Hashable) -> int:
        """The number of a recipe, in its place: nested ones would be compared part by part, again and again."""
        return self._numbers.setdefault(recipe, len(self._numbers))

    def _attributes(self, attributes: Mapping[str, Any]) -> Recipe:
        found: list[Any] = []
        for key in sorted(set(attributes) - set(_NAMES)):
            function = attributes[key].func.name if attributes[key].HasField("func") else ""
            found.append((key, self._of_function(function) if function else attributes[key].SerializeToString()))
        return tuple(found)


def _is_without_seed(kind: str, inputs: Sequence[Any]) -> bool:
    """Whether a dataset shuffles, and has no seed: then each iterator draws one."""
    if not kind.startswith("Shuffle"):
        return False
    seeds = [
        tf.make_ndarray(node.attr["value"].tensor) for node in inputs[2:4] if node is not None and node.op == "Const"
    ]
    return len(seeds) == 2 and not np.any(seeds)


def _shuffles_one_name(nodes: Mapping[str, Any], node: Any) -> bool:
    """Whether an op shuffles a constant of one element, such as the name of the only file."""
    if node.op != "RandomShuffle":
        return False
    while node.op in ("RandomShuffle", "Identity") and node.input[0].partition(":")[0] in nodes:
        node = nodes[node.input[0].partition(":")[0]]
    return node.op == "Const" and tf.make_ndarray(node.attr["value"].tensor).shape[:1] == (1,)
