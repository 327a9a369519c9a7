"""Hazards of the order of a dataset's steps: what is random before a cache, and batches that are shuffled."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from legacy.saved.facts.basics.whole_graph import WholeGraph, scalar_constant
from legacy.saved.facts.inputs.datasets import dataset_nodes
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph

_CACHES = ("CacheDataset", "CacheDatasetV2")
_BATCHES = ("BatchDataset", "BatchDatasetV2", "PaddedBatchDataset", "PaddedBatchDatasetV2")
_SHUFFLES = ("ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3", "ShuffleAndRepeatDataset")
_REPEATS = ("RepeatDataset", "ShuffleAndRepeatDataset")
#: Datasets whose elements come in one order in every pass, as far as these steps alone are before them.
_ORDERED = (
    "TensorSliceDataset",
    "TensorDataset",
    "RangeDataset",
    "TFRecordDataset",
    "TextLineDataset",
    "FixedLengthRecordDataset",
    "FixedLengthRecordDatasetV2",
    "ZipDataset",
    "MapDataset",
    "ParallelMapDataset",
    "CacheDataset",
    "CacheDatasetV2",
    "PrefetchDataset",
    "TakeDataset",
    "SkipDataset",
    "ShardDataset",
    *_BATCHES,
)


def random_before_cache(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds caches of repeated datasets that keep what was drawn at random for the first pass; one hazard for all."""
    for nodes in _datasets(whole):
        for name in [name for name in nodes if nodes[name].op in _CACHES]:
            before = _before(nodes, name)
            drawing = [one for one in before if _draws(whole.graph, nodes[one])]
            if drawing and _is_repeated(nodes, name) and not _repeats(nodes, before):
                yield Hazard(
                    "DRAWN_ONCE",
                    name,
                    f"{name} caches what {drawing[0]} ({nodes[drawing[0]].op}) draws at random: every later pass over "
                    "the data takes the crops, flips or noise of the first one",
                    "cache before the random map; for parity keep the order",
                )
                return


def shuffled_batches(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds repeated datasets that are shuffled behind the batching alone; one hazard for all.

    What is batched once more behind the shuffle are examples, such as windows of a text that the first batching cuts.
    """
    for nodes in _datasets(whole):
        for name in [name for name in nodes if nodes[name].op in _SHUFFLES]:
            before = _before(nodes, name)
            datasets = [one for one in before if nodes[one].op.endswith(("Dataset", "DatasetV2", "DatasetV3"))]
            batches = [one for one in datasets if nodes[one].op in _BATCHES]
            ordered = all(nodes[one].op in _ORDERED for one in datasets)
            random = any(op_types.is_random(nodes[one].op) for one in before)
            are_windows = any(nodes[one].op in _BATCHES for one in nodes if name in _before(nodes, one))
            if batches and ordered and not random and not are_windows and _is_repeated(nodes, name):
                yield Hazard(
                    "BATCHES_SHUFFLED",
                    name,
                    f"{name} shuffles batches, which {batches[0]} has made before of examples in their order: each "
                    "batch holds the same examples in every pass",
                    "shuffle before the batching; for parity keep the order",
                )
                return


def _datasets(whole: WholeGraph) -> Iterator[Mapping[str, Any]]:
    """Yields the nodes of each dataset that the training step takes examples from."""
    graph = whole.graph
    takers = [n for n in graph.of_type_prefix("IteratorGetNext") if n in whole.reach]
    for iterator in dict.fromkeys(graph.origin(graph.inputs(name)[0]).node for name in takers):
        yield dataset_nodes(graph, iterator)


def _before(nodes: Mapping[str, Any], name: str) -> list[str]:
    """The nodes that a node of a dataset is made of, without itself."""
    found: dict[str, None] = {}
    todo = [name]
    while todo:
        for text in nodes[todo.pop()].input:
            before = text.lstrip("^").partition(":")[0]
            if before in nodes and before not in found:
                found[before] = None
                todo.append(before)
    return list(found)


def _repeats(nodes: Mapping[str, Any], names: Collection[str]) -> bool:
    """Whether some of a dataset's nodes repeat it, other than once."""
    for name in names:
        if nodes[name].op in _REPEATS:
            count = nodes.get(nodes[name].input[-1].partition(":")[0])
            if count is None or scalar_constant(count) != 1:
                return True
    return False


def _is_repeated(nodes: Mapping[str, Any], name: str) -> bool:
    """Whether a dataset, or one that is made from it, is repeated."""
    behind = [other for other in nodes if other == name or name in _before(nodes, other)]
    return _repeats(nodes, behind)


def _draws(graph: Graph, node: Any) -> bool:
    """Whether a step of a dataset maps its elements by a function that draws random numbers."""
    functions = {function.signature.name: function for function in graph.graph_def.library.function}
    todo = [value.func.name for value in node.attr.values() if value.HasField("func")]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        for inner in functions[name].node_def:
            if op_types.is_random(inner.op):
                return True
            todo += [value.func.name for value in inner.attr.values() if value.HasField("func")]
    return False
