"""Functions of a graph's library that compute the same: each trace of one Python function has a name of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorflow.core.framework.function_pb2 import FunctionDef
    from tensorflow.core.framework.graph_pb2 import GraphDef


def are_equal_functions(graph_def: GraphDef, first: str, other: str) -> bool:
    """Returns whether two names are of one function, or of two with the same ops, also in functions that they call.

    Args:
      graph_def: the graph with its library.
      first: name of a function, or of any op.
      other: another one.

    Returns:
      The answer.
    """
    if first == other:
        return True
    library = {function.signature.name: function for function in graph_def.library.function}
    return first in library and other in library and _bare(library, first) == _bare(library, other)


def are_equal_attributes(graph_def: GraphDef, first: Any, other: Any) -> bool:
    """Returns whether two attributes of nodes are equal, or name functions that compute the same.

    Args:
      graph_def: the graph with its library.
      first: an `AttrValue`.
      other: another one.

    Returns:
      The answer.
    """
    if first == other:
        return True
    if first.WhichOneof("value") != "func" or other.WhichOneof("value") != "func":
        return False
    return first.func.attr == other.func.attr and are_equal_functions(graph_def, first.func.name, other.func.name)


def _bare(library: dict[str, FunctionDef], name: str) -> tuple[Any, ...]:
    """A function's arguments, ops and results, with what it calls in the place of each name of a function."""
    function = library[name]
    arguments = [(arg.name, arg.type, arg.type_attr) for arg in function.signature.input_arg]
    results = [(arg.name, arg.type, function.ret[arg.name]) for arg in function.signature.output_arg]
    nodes = []
    for node in sorted(function.node_def, key=lambda node: node.name):
        kind = _bare(library, node.op) if node.op in library else node.op
        attributes = []
        for key, value in sorted(node.attr.items()):
            called = value.func.name if value.WhichOneof("value") == "func" else ""
            attributes.append((key, _bare(library, called) if called in library else value.SerializeToString()))
        nodes.append((node.name, kind, tuple(node.input), tuple(attributes)))
    return tuple(arguments), tuple(results), tuple(nodes)
