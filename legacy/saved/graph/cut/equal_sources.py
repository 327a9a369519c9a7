"""Data sources that give the same: towers that each cut and number the words of one text."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from legacy.saved.graph import op_types
from legacy.saved.graph.cut.tables import TABLES, filling_of
from workloads.lifted.graph import Graph, TensorId

#: Sources whose outputs follow from their inputs alone.
_PURE = ("LookupTableFind", "LookupTableFindV2", *op_types.HASHES, *op_types.TEXT_CUTS)
#: Attributes that say nothing of what a node gives.
_PLACES = ("_class", "_output_shapes", "container", "shared_name", "use_node_name_sharing")


def first_equal_sources(graph: Graph, sources: Collection[str]) -> dict[str, str]:
    """Returns, for each source, the first one in the graph that gives the same.

    Sources do so that hash, cut or look up the same texts, in the same table or in tables of the same constants.

    Args:
      graph: a whole graph.
      sources: names of data sources.

    Returns:
      {source: the first source that gives the same, which may be itself}.
    """
    firsts: dict[str, str] = {}
    keys: dict[Hashable, str] = {}
    for name in graph.order([name for name in sources if graph.type(name) in _PURE]):
        given = tuple(_key_of(graph, tensor, firsts) for tensor in graph.inputs(name))
        firsts[name] = keys.setdefault((type_and_attributes(graph, name), given), name)
    return {name: firsts.get(name, name) for name in sources}


def type_and_attributes(graph: Graph, name: str) -> Hashable:
    """Returns the type and attributes of a node: equal for nodes that compute the same from equal inputs."""
    node = graph.nodes[name]
    kept = sorted((key, value.SerializeToString()) for key, value in node.attr.items() if key not in _PLACES)
    return node.op, tuple(kept)


def _key_of(graph: Graph, tensor: TensorId, firsts: dict[str, str]) -> Hashable:
    """Returns a value that is equal for tensors that are the same.

    Args:
      graph: the whole graph.
      tensor: a source's input.
      firsts: {source before it: the first source that gives the same}.
    """
    tensor = graph.origin(tensor)
    kind = graph.type(tensor.node)
    if kind == "Const":
        return type_and_attributes(graph, tensor.node)
    filling = filling_of(graph, tensor.node) if kind in TABLES else None
    if filling is not None and all(graph.type(content.node) == "Const" for content in filling.contents):
        parts = tuple(type_and_attributes(graph, content.node) for content in filling.contents)
        return type_and_attributes(graph, tensor.node), type_and_attributes(graph, filling.node), parts
    return firsts.get(tensor.node, tensor.node), tensor.output
