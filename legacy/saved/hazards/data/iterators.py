"""Hazard of towers whose iterators go through equal datasets in the same order, and so take the same examples."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Tuple

import numpy as np
import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph, scalar_constant
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from workloads.lifted.graph import Graph

#: How a dataset is made: its op, attributes and inputs, or a name where two of that kind are never equal.
Recipe = Tuple[Any, ...]
#: Attributes of a node that do not change what it computes.
_NAMES = ("_class", "_output_shapes", "shared_name", "container", "config")
#: Beginnings of the types of ops whose results differ, or come in no fixed order.
_OPEN = ("Placeholder", "Variable", "VarHandleOp", "PyFunc", "EagerPyFunc", "Random", "ParallelInterleave")


def same_examples(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers with iterators of their own over equal datasets that are not shuffled, or with equal seeds."""
    taken: dict[int, set[str]] = {}
    for name in whole.graph.nodes:
        if name in whole.reach and whole.graph.type(name).startswith("IteratorGetNext"):
            iterator = whole.graph.origin(whole.graph.inputs(name)[0]).node
            takers = _towers_of_taker(whole, name)
            if len(takers) == 1:
                taken.setdefault(takers.pop(), set()).add(iterator)
    iterators = {tower: next(iter(names)) for tower, names in taken.items() if len(names) == 1}
    if len(iterators) < 2 or len(set(iterators.values())) < len(iterators) or len(iterators) < len(taken):
        return
    recipes = _Recipes(whole.graph)
    towers: dict[Recipe, list[int]] = {}
    for tower, iterator in iterators.items():
        towers.setdefault(recipes.of_iterator(iterator), []).append(tower)
    for same in towers.values():
        if len(same) > 1:
            yield Hazard(
                "SAME_BATCH",
                iterators[same[0]],
                f"{listed_towers(same)} take the same examples in the same order: their iterators "
                f"{iterators[same[0]]}, {iterators[same[1]]} go through equal datasets, with equal seeds if any",
                "shard the dataset by the tower's number, or distribute one dataset; for parity, keep equal datasets",
            )
            return


def _towers_of_taker(whole: WholeGraph, name: str) -> set[int]:
    """The tower that an op which takes examples stands in, or those whose losses use what it takes."""
    if name in whole.labels:
        return {whole.labels[name]}
    return whole.towers_of(whole.graph.descendants([name], controls=False) & whole.minimized)


def shuffles_of_one(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds datasets of the step that are shuffled with a buffer of one element alone; one hazard for all.

    A list of one file has a buffer of its length: that is no hazard, nor is one before a larger buffer.
    """
    graph = whole.graph
    takers = [n for n in graph.nodes if n in whole.reach and graph.type(n).startswith("IteratorGetNext")]
    for iterator in dict.fromkeys(graph.origin(graph.inputs(name)[0]).node for name in takers):
        if _Recipes(graph).shuffles_one(iterator):
            yield Hazard(
                "SHUFFLE_OF_ONE",
                iterator,
                f"the dataset of {iterator} is shuffled with a buffer of 1 element, which leaves the order as it is",
                "a buffer of many elements; for parity keep it",
            )
            return


def seeds_of_shuffles(graph: Graph, iterator: str) -> list[tuple[float | None, ...]]:
    """Returns the seeds of each shuffle of an iterator's dataset; zeros where each run draws others."""
    return [numbers[1:] for numbers in _Recipes(graph).shuffles(iterator)]


def dataset_nodes(graph: Graph, iterator: str) -> dict[str, Any]:
    """Returns {name: node} of what an iterator's dataset is made of, in the graph or in the function that makes it."""
    if graph.type(iterator) == "OneShotIterator":
        name = graph.nodes[iterator].attr["dataset_factory"].func.name
        factories = [f for f in graph.graph_def.library.function if f.signature.name == name]
        return {node.name: node for factory in factories for node in factory.node_def}
    made = [use.node for use in graph.users(iterator) if graph.type(use.node) == "MakeIterator"]
    return {name: graph.nodes[name] for name in graph.ancestors(made, controls=False)}


class _Recipes:
    """Recipes of the datasets of a graph: two datasets with equal ones have the same elements in the same order.

    Args:
      graph: the whole graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._open = itertools.count(1)
        self._functions = {function.signature.name: function for function in graph.graph_def.library.function}

    def of_iterator(self, iterator: str) -> Recipe:
        """Returns the recipe of an iterator's dataset; one of its own if that is not known."""
        if self._graph.type(iterator) == "OneShotIterator":
            return self._of_function(self._graph.nodes[iterator].attr["dataset_factory"].func.name)
        made = [use.node for use in self._graph.users(iterator) if self._graph.type(use.node) == "MakeIterator"]
        if len(made) != 1:
            return (iterator,)
        return self._of_tensor(self._graph.nodes, self._graph.nodes[made[0]].input[0], "", {})

    def shuffles_one(self, iterator: str) -> bool:
        """Returns whether an iterator's dataset is shuffled with a buffer of one element, and not again after that."""
        nodes = dataset_nodes(self._graph, iterator)
        buffers = {node.name: _numbers_of_shuffle(nodes, node)[0] for node in _shuffles(nodes)}
        larger = [name for name, buffer in buffers.items() if buffer != 1]
        shuffled_again = {before for name in larger for before in _datasets_before(nodes, nodes[name])}
        return any(
            buffer == 1 and name not in shuffled_again and not _is_of_one_element(nodes, nodes[name])
            for name, buffer in buffers.items()
        )

    def shuffles(self, iterator: str) -> list[tuple[float | None, ...]]:
        """Returns buffer and seeds of each shuffle of an iterator's dataset; None in place of one that is not known."""
        nodes = dataset_nodes(self._graph, iterator)
        return [_numbers_of_shuffle(nodes, node) for node in _shuffles(nodes)]

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
        if name not in nodes:
            return ("argument", places.get(name, name))
        node = nodes[name]
        inputs = [before for before in node.input if not before.startswith("^")]
        if node.op.startswith(_OPEN) or _is_without_seed(
            node.op, [nodes.get(text.partition(":")[0]) for text in inputs]
        ):
            return (name, owner and next(self._open))  # what a function computes is computed anew for each iterator
        recipes = tuple(self._of_tensor(nodes, before, owner, places) for before in inputs)
        return (node.op, output, self._attributes(node.attr), recipes)

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


def _shuffles(nodes: Mapping[str, Any]) -> list[Any]:
    return [node for node in nodes.values() if node.op.startswith("Shuffle") and len(node.input) > 1]


def _numbers_of_shuffle(nodes: Mapping[str, Any], shuffle: Any) -> tuple[float | None, ...]:
    """The buffer and the seeds of a shuffle; None in place of one that is not known."""
    given = [nodes.get(text.partition(":")[0]) for text in shuffle.input[1:]]
    return tuple(None if node is None else scalar_constant(node) for node in given)


def _datasets_before(nodes: Mapping[str, Any], dataset: Any) -> Iterator[str]:
    """Yields the names of the datasets that one is made of, from the last to the first."""
    while dataset.input and dataset.input[0].partition(":")[0] in nodes:
        dataset = nodes[dataset.input[0].partition(":")[0]]
        yield dataset.name


def _is_of_one_element(nodes: Mapping[str, Any], dataset: Any) -> bool:
    """Whether a dataset is made of one element, such as the name of the only file, also where that is repeated."""
    before = [nodes[name] for name in _datasets_before(nodes, dataset)]
    made = next((node for node in before if not node.op.startswith("Repeat")), None)
    if made is None or made.op != "TensorSliceDataset":
        return made is not None and made.op == "TensorDataset"
    parts = [nodes[text.partition(":")[0]] for text in made.input if text.partition(":")[0] in nodes]
    lengths = [tf.make_ndarray(part.attr["value"].tensor).shape[:1] for part in parts if part.op == "Const"]
    return (1,) in lengths
