"""Datasets behind iterators: their ops, in the graph or in the function that makes one, and the batches they give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from legacy.saved.facts.basics.whole_graph import scalar_constant
from workloads.lifted.graph import Graph

#: {op type of a dataset that joins elements: the place of their number among its inputs}.
BATCHES = {
    "BatchDataset": 1,
    "BatchDatasetV2": 1,
    "PaddedBatchDataset": 1,
    "PaddedBatchDatasetV2": 1,
    "MapAndBatchDataset": -2,
    "MapAndBatchDatasetV2": -3,
    "ExperimentalMapAndBatchDataset": -3,
}
#: Datasets that give the elements of their first input as they are, perhaps some of them, or in another order.
HANDS_ON = ("Prefetch", "Repeat", "Shuffle", "Take", "Skip", "Cache", "Shard", "Options", "Model", "Optimize")


def dataset_nodes(graph: Graph, iterator: str) -> dict[str, Any]:
    """Returns {name: node} of what an iterator's dataset is made of, in the graph or in the function that makes it."""
    if graph.type(iterator) == "OneShotIterator":
        name = graph.nodes[iterator].attr["dataset_factory"].func.name
        factories = [f for f in graph.graph_def.library.function if f.signature.name == name]
        return {node.name: node for factory in factories for node in factory.node_def}
    made = [use.node for use in graph.users(iterator) if graph.type(use.node) == "MakeIterator"]
    return {name: graph.nodes[name] for name in graph.ancestors(made, controls=False)}


def datasets_before(nodes: Mapping[str, Any], dataset: Any) -> Iterator[str]:
    """Yields the names of the datasets that one is made of, from the last to the first."""
    while dataset.input and dataset.input[0].partition(":")[0] in nodes:
        dataset = nodes[dataset.input[0].partition(":")[0]]
        yield dataset.name


def rows_of_batches(graph: Graph, iterator: str) -> int | None:
    """Returns the number of examples that an iterator's dataset joins to a batch.

    Args:
      graph: the whole graph, with its functions.
      iterator: the op that the elements are taken from.

    Returns:
      The number; None where it is not constant, or something else follows the joining.
    """
    nodes = dataset_nodes(graph, iterator)
    datasets = [node for node in nodes.values() if "Dataset" in node.op]
    before = {name for node in datasets for name in [text.partition(":")[0] for text in node.input]}
    last = [node for node in datasets if node.name not in before]
    if len(last) != 1:
        return None
    for name in (last[0].name, *datasets_before(nodes, last[0])):
        node = nodes[name]
        if node.op in BATCHES:
            number = nodes.get(node.input[BATCHES[node.op]].partition(":")[0])
            rows = None if number is None else scalar_constant(number)
            return None if rows is None else int(rows)
        if not node.op.startswith(HANDS_ON):
            return None
    return None
