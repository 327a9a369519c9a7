"""The ops of `Dataset.map` in place of the elements that iterators give, as if each example were made in the graph."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from legacy.saved.facts.inputs.datasets import BATCHES, HANDS_ON, dataset_nodes
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.graph.edits import GraphCopy

#: Datasets of what a function makes of each element, and those that leave elements out.
_MAPS, _FILTERS = ("Map", "ParallelMap", "ExperimentalMap"), ("Filter",)
_BRANCHES = ("If", "StatelessIf")


def with_maps(graph: Graph, kinds: Collection[str]) -> Graph:
    """Returns a graph that computes the elements of its iterators by the ops of the functions that map datasets.

    Examples are not joined to batches there, so that shapes may be those of one example. Branches of a function are
    joined by a `Merge` whose condition is left out.

    Args:
      graph: the whole graph, with its functions.
      kinds: op types of which a function must have one.

    Returns:
      The graph; the same if no function has such an op.
    """
    takers = graph.of_type_prefix("IteratorGetNext")
    functions = graph.graph_def.library.function if takers else ()
    if not any(node.op in kinds for function in functions for node in function.node_def):
        return graph
    given = {name: dataset_nodes(graph, graph.origin(graph.inputs(name)[0]).node) for name in takers}
    return _Maps(graph).with_elements(given)


def mapped_element(graph: Graph, mapped: Graph, tensor: TensorId) -> TensorId:
    """Returns what a graph of `with_maps` computes in place of a tensor that an op of the graph takes.

    Args:
      graph: the whole graph.
      mapped: the one that `with_maps` made of it.
      tensor: of the whole graph.

    Returns:
      The tensor of the mapped graph; the same if no op takes it.
    """
    uses = [use for use in graph.users(tensor.node) if use.output == tensor.output]
    return mapped.inputs(uses[0].node)[uses[0].position] if uses else tensor


class _Maps(GraphCopy):
    """A copy of a graph to which the ops of functions are added.

    Args:
      graph: the graph.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._graph = graph
        self._functions = {function.signature.name: function for function in graph.graph_def.library.function}
        self._results: dict[tuple[str, str], list[str]] = {}  # of the map of an iterator

    def with_elements(self, takers: Mapping[str, Mapping[str, Any]]) -> Graph:
        """Returns the graph in which users of iterators use what functions made.

        Args:
          takers: {op that takes elements of an iterator: the nodes of its dataset}.
        """
        for name, nodes in takers.items():
            before = {text.partition(":")[0] for node in nodes.values() for text in node.input}
            last = [node for node in nodes.values() if "Dataset" in node.op and _is_last(node, nodes, before)]
            for use in self._graph.users(name) if len(last) == 1 else ():
                made = self._element(name, nodes, last[0], use.output)
                if made:
                    self.nodes[use.node].input[use.position] = made
        return Graph(self.graph_def)

    def _element(self, taker: str, nodes: Mapping[str, Any], dataset: Any, position: int) -> str:
        """The tensor that a dataset's elements have at a position; "" where no function makes it."""
        while dataset.op.startswith((*HANDS_ON, *_FILTERS)) or (dataset.op in BATCHES and "Map" not in dataset.op):
            if not dataset.input or dataset.input[0].partition(":")[0] not in nodes:
                return ""
            dataset = nodes[dataset.input[0].partition(":")[0]]
        function = self._functions.get(dataset.attr["f"].func.name) if dataset.op.startswith(_MAPS) else None
        if function is None:
            return ""
        place = (taker, dataset.name)
        if place not in self._results:
            before = nodes[dataset.input[0].partition(":")[0]]
            arguments = [
                self._element(taker, nodes, before, i) or self._unknown(f"{taker}/{dataset.name}/{argument.name}")
                for i, argument in enumerate(function.signature.input_arg)
            ]
            self._results[place] = self._inlined(function, arguments, f"{taker}/{dataset.name}")
        results = self._results[place]
        return results[position] if position < len(results) else ""

    def _unknown(self, name: str) -> str:
        """A node for what is read from files, or is captured by a function."""
        if name not in self.nodes:
            self.add(name, "Placeholder")
        return name

    def _inlined(self, function: Any, arguments: Sequence[str], prefix: str) -> list[str]:
        """Adds a function's ops; returns the tensors that it returns."""
        given = {argument.name: text for argument, text in zip(function.signature.input_arg, arguments)}
        branching = {node.name for node in function.node_def if node.op in _BRANCHES}

        def tensor(text: str) -> str:
            name, _, place = text.partition(":")
            number = place.rpartition(":")[2] or "0"
            if name in given:
                return given[name]
            if name in branching:
                return f"{prefix}/{name}/{number}"
            return f"{prefix}/{name}" if number == "0" else f"{prefix}/{name}:{number}"

        for node in function.node_def:
            inputs = [tensor(text) for text in node.input if text[:1] != "^"]
            if node.name in branching:
                self._add_branches(node, inputs[1:], f"{prefix}/{node.name}")
            else:
                made = self.add_copy(node, f"{prefix}/{node.name}")
                del made.input[:]
                made.input.extend(inputs)
        return [tensor(function.ret[output.name]) for output in function.signature.output_arg]

    def _add_branches(self, node: Any, arguments: Sequence[str], prefix: str) -> None:
        """Adds the ops of both branches of a condition, and those that join their results."""
        functions = [self._functions[node.attr[key].func.name] for key in ("then_branch", "else_branch")]
        results = [
            self._inlined(function, arguments, f"{prefix}/{key}") for function, key in zip(functions, ("then", "else"))
        ]
        for number, pair in enumerate(zip(*results)):
            self.add(f"{prefix}/{number}", "Merge", pair)


def _is_last(node: Any, nodes: Mapping[str, Any], before: set[str]) -> bool:
    """Whether no further dataset is made from one: an op that wraps a finished one may follow it."""
    if node.name not in before:
        return True
    users = [other for other in nodes.values() if node.name in [text.partition(":")[0] for text in other.input]]
    return not any("Dataset" in other.op for other in users)
