"""Places of variables in checkpoints: slices of one tensor for parts of a variable, names that a saver gives them."""

from __future__ import annotations

from typing import NamedTuple, Tuple

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import variable_of
from workloads.lifted.graph import Graph

SAVERS = ("SaveV2", "SaveSlices", "Save")
#: A slice of all of a dimension, as SaveV2 writes it.
ALL = "-"


class Part(NamedTuple):
    """The place of a variable in a checkpoint.

    Attributes:
      tensor: name of the whole variable there.
      shape: of the whole variable.
      slices: for each dimension, what the part has of it.
    """

    tensor: str
    shape: Tuple[int, ...]
    slices: Tuple[slice, ...]


def parts_of_variables(graph: Graph) -> dict[str, Part]:
    """Returns {variable: its place} of the variables that a checkpoint has as slices of another one.

    Args:
      graph: the whole graph; a saver's op says which slice of which tensor each of its inputs is.
    """
    found: dict[str, Part] = {}
    for name in graph.nodes:
        if graph.type(name) != "SaveV2":
            continue
        inputs = graph.inputs(name)
        tensors, texts = (_texts(graph, tensor.node) for tensor in inputs[1:3])
        for tensor, text, saved in zip(tensors, texts, inputs[3:]):
            variable = _variable_behind(graph, saved.node) if text else None
            if variable is not None:
                found[variable] = _part(tensor, text)
    return found


def saved_names(graph: Graph) -> list[set[str]]:
    """Returns the names of the tensors that each saver writes, and those that all of them write.

    Args:
      graph: the whole graph; a Saver that shards its checkpoint has an op for each device.
    """
    savers = graph.of_types(*SAVERS)
    names = [set(_texts(graph, graph.inputs(saver)[1].node)) for saver in savers]
    return [*names, set().union(*names)]


def restored_names(graph: Graph) -> dict[str, list[str]]:
    """Returns {variable: names of the tensors in checkpoints that the graph's savers assign to it}.

    Args:
      graph: the whole graph; a Saver with a dictionary or a builder of its own gives variables other names.
    """
    found: dict[str, list[str]] = {}
    for name in graph.nodes:
        if graph.type(name) not in op_types.SETS:
            continue
        value = graph.inputs(name)[1]
        while graph.type(value.node) in ("Identity", "Reshape"):
            value = graph.inputs(value.node)[0]
        variable = variable_of(graph, name) if graph.type(value.node) == "RestoreV2" else None
        if variable is not None:
            tensors, slices = (_texts(graph, given.node) for given in graph.inputs(value.node)[1:3])
            if value.output < len(tensors) and not any(slices[value.output : value.output + 1]):
                found.setdefault(variable, []).append(tensors[value.output])
    return found


def _variable_behind(graph: Graph, node: str) -> str | None:
    """The variable that a node is, or that it copies or reads."""
    kind = graph.type(node)
    if kind in ("Identity", "ReadVariableOp"):
        return variable_of(graph, node)
    return node if "Variable" in kind or kind == "VarHandleOp" else None


def _part(tensor: str, text: str) -> Part:
    """A part from its text in a saver.

    >>> _part("w", "4 2 2,2:-")
    Part(tensor='w', shape=(4, 2), slices=(slice(2, 4, None), slice(None, None, None)))
    """
    *sizes, places = text.split()
    slices = []
    for place in places.split(":"):
        begin, _, length = place.partition(",")
        slices.append(slice(None) if place == ALL else slice(int(begin), int(begin) + int(length)))
    return Part(tensor, tuple(map(int, sizes)), tuple(slices))


def _texts(graph: Graph, name: str) -> list[str]:
    """Returns the strings that a Const holds; none of any other node."""
    node = graph.nodes[name]
    return [text.decode("utf-8") for text in node.attr["value"].tensor.string_val] if node.op == "Const" else []
