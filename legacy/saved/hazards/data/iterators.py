"""Hazards of shuffling and of towers whose iterators or queues go through equal data in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph, scalar_constant
from legacy.saved.facts.inputs.datasets import dataset_nodes, datasets_before
from legacy.saved.facts.inputs.recipes import Recipe, Recipes, resources_behind
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from workloads.lifted.graph import Graph


def same_examples(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers with sources of their own over equal data that are not shuffled, or with equal seeds."""
    yield from _same_sources(
        whole, "IteratorGetNext", "their iterators {} go through equal datasets, with equal seeds if any"
    )
    yield from _same_sources(
        whole, "QueueDequeue", "their queues {} are filled with equal data in its order, each by ops of its own"
    )


def _same_sources(whole: WholeGraph, taking: str, words: str) -> Iterator[Hazard]:
    """Finds towers of which each takes its examples from a source of its own that gives the same as another's.

    Args:
      whole: the graph.
      taking: beginning of the types of the ops that take examples from such sources.
      words: what makes the sources equal, with a place for their names.
    """
    taken: dict[int, set[str]] = {}
    for name in whole.graph.nodes:
        if name in whole.reach and whole.graph.type(name).startswith(taking):
            source = whole.graph.origin(whole.graph.inputs(name)[0]).node
            takers = _towers_of_taker(whole, name)
            if len(takers) == 1:
                taken.setdefault(takers.pop(), set()).add(source)
    sources = {tower: next(iter(names)) for tower, names in taken.items() if len(names) == 1}
    if len(sources) < 2 or len(sources) < len(taken):
        return
    behind = [resources_behind(whole.graph, source) for source in sources.values()]
    if len(set().union(*behind)) < sum(map(len, behind)):
        return  # towers take turns at what they share, such as one iterator, or a queue of the names of files
    recipes = Recipes(whole.graph)
    towers: dict[Recipe, list[int]] = {}
    for tower, source in sources.items():
        towers.setdefault(recipes.of_source(source), []).append(tower)
    for same in towers.values():
        if len(same) > 1:
            names = ", ".join(sources[tower] for tower in same[:2])
            yield Hazard(
                "SAME_BATCH",
                sources[same[0]],
                f"{listed_towers(same)} take the same examples in the same order: {words.format(names)}",
                "shard the dataset by the tower's number, or distribute one dataset; for parity, keep equal datasets",
            )
            return


def _towers_of_taker(whole: WholeGraph, name: str) -> set[int]:
    """The tower of an op that reads examples, or else the towers with losses that use these examples."""
    if name in whole.labels:
        return {whole.labels[name]}
    return whole.towers_of(whole.graph.descendants([name], controls=False) & whole.minimized)


def shuffles_of_one(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds datasets of the step that are shuffled with a buffer of one element alone; one hazard for all.

    A list of one file has a buffer of its length: that is no hazard, nor is one before a larger buffer.
    """
    graph = whole.graph
    takers = [n for n in graph.of_type_prefix("IteratorGetNext") if n in whole.reach]
    for iterator in dict.fromkeys(graph.origin(graph.inputs(name)[0]).node for name in takers):
        if _shuffles_one(graph, iterator):
            yield Hazard(
                "SHUFFLE_OF_ONE",
                iterator,
                f"the dataset of {iterator} is shuffled with a buffer of 1 element, which leaves the order as it is",
                "a buffer of many elements; for parity keep it",
            )
            return


def seeds_of_shuffles(graph: Graph, iterator: str) -> list[tuple[float | None, ...]]:
    """Returns the seeds of each shuffle of an iterator's dataset; zeros where each run draws others."""
    nodes = dataset_nodes(graph, iterator)
    return [_numbers_of_shuffle(nodes, node)[1:] for node in _shuffles(nodes)]


def _shuffles_one(graph: Graph, iterator: str) -> bool:
    """Whether an iterator's dataset is shuffled with a buffer of one element, and not again after that."""
    nodes = dataset_nodes(graph, iterator)
    buffers = {node.name: _numbers_of_shuffle(nodes, node)[0] for node in _shuffles(nodes)}
    larger = [name for name, buffer in buffers.items() if buffer != 1]
    shuffled_again = {before for name in larger for before in datasets_before(nodes, nodes[name])}
    return any(
        buffer == 1 and name not in shuffled_again and not _is_of_one_element(nodes, nodes[name])
        for name, buffer in buffers.items()
    )


def _shuffles(nodes: Mapping[str, Any]) -> list[Any]:
    return [node for node in nodes.values() if node.op.startswith("Shuffle") and len(node.input) > 1]


def _numbers_of_shuffle(nodes: Mapping[str, Any], shuffle: Any) -> tuple[float | None, ...]:
    """The buffer and the seeds of a shuffle; None in place of one that is not known."""
    given = [nodes.get(text.partition(":")[0]) for text in shuffle.input[1:]]
    return tuple(None if node is None else scalar_constant(node) for node in given)


def _is_of_one_element(nodes: Mapping[str, Any], dataset: Any) -> bool:
    """Whether a dataset is made of one element, such as the name of the only file, also where that is repeated."""
    before = [nodes[name] for name in datasets_before(nodes, dataset)]
    made = next((node for node in before if not node.op.startswith("Repeat")), None)
    if made is None or made.op != "TensorSliceDataset":
        return made is not None and made.op == "TensorDataset"
    parts = [nodes[text.partition(":")[0]] for text in made.input if text.partition(":")[0] in nodes]
    lengths = [tf.make_ndarray(part.attr["value"].tensor).shape[:1] for part in parts if part.op == "Const"]
    return (1,) in lengths
