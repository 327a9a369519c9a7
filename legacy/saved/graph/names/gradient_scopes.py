"""Gives gradient graphs with a name of the program's own the name scope that `tf.gradients` opens by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.tensors.gradient_names import GRADIENTS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tensorflow.core.framework.graph_pb2 import GraphDef

#: The scope that is put behind a name of the program's own.
SCOPE = "gradients/"
#: What the derivative of a loss by itself is called, behind the scope of its gradient graph.
_STARTS = ("Fill", "grad_ys_0", "ones_like")
#: What stands before the name of the op that a node is placed with.
_PLACED_WITH = b"loc:@"


def name_gradient_graphs(graph_def: GraphDef) -> dict[str, str]:
    """Renames the nodes of gradient graphs that a program named, as by `tf.gradients(..., name="grads_w")`.

    The names alone tell which op a gradient op differentiates, and everything that asks knows the scope "gradients".
    "grads_w/loss_grad/mul" becomes "grads_w/gradients/loss_grad/mul", in all that refers to it.

    Args:
      graph_def: the graph, which is changed.

    Returns:
      {old name: new name} of the nodes that are renamed.
    """
    scopes = _named_scopes(graph_def)
    renamed = {}
    for node in graph_def.node:
        scope = next((scope for scope in scopes if node.name.startswith(scope)), None)
        if scope is not None:
            renamed[node.name] = f"{scope}{SCOPE}{node.name[len(scope) :]}"
    for node in graph_def.node if renamed else ():
        node.name = renamed.get(node.name, node.name)
        for place, text in enumerate(node.input):
            node.input[place] = renamed_input(text, renamed)
        if "_class" in node.attr:
            values = node.attr["_class"].list.s
            values[:] = [_renamed_place(value, renamed) for value in values]
    return renamed


def name_in_program(name: str) -> str:
    """Returns the name that a node had before `name_gradient_graphs`, if that renamed it.

    >>> name_in_program("tower_0/grads_w/gradients/loss_grad/mul:0")
    'tower_0/grads_w/loss_grad/mul:0'
    """
    begin, scope, end = name.partition(f"/{SCOPE}")
    return f"{begin}/{end}" if scope else name


def _named_scopes(graph_def: GraphDef) -> list[str]:
    """Returns the scopes, with their slashes, in which a gradient graph starts that has a name of the program's own.

    The derivative of the loss by itself is directly in the scope, and a node takes it that has there the name of an op
    of the graph, with "_grad" behind.
    """
    starts = {}
    for node in graph_def.node:
        scope, _, leaf = node.name.rpartition("/")
        if scope and leaf in _STARTS and not GRADIENTS.search(node.name):
            starts[node.name] = f"{scope}/"
    if not starts:
        return []
    names = {node.name for node in graph_def.node}
    found: dict[str, None] = {}
    for node in graph_def.node:
        for text in node.input:
            scope = starts.get(parse_tensor_name(text.lstrip("^")).node)
            if scope is not None and _is_gradient_of(node.name, scope, names):
                found[scope] = None
    taken = {scope for scope in found if any(name.startswith(scope + SCOPE) for name in names)}
    return [scope for scope in found if scope not in taken]


def _is_gradient_of(name: str, scope: str, names: Collection[str]) -> bool:
    """Returns whether a node is in a scope, and there has the name of another node, with "_grad" behind."""
    end = name.find("_grad/", len(scope))
    while name.startswith(scope) and end >= 0:
        if name[len(scope) : end] in names:
            return True
        end = name.find("_grad/", end + 1)
    return False


def renamed_input(text: str, renamed: Mapping[str, str]) -> str:
    """Returns an input of a node, or a tensor's name, with the new name of the node that it is of."""
    begin = "^" if text.startswith("^") else ""
    name, colon, output = text[len(begin) :].partition(":")
    return f"{begin}{renamed.get(name, name)}{colon}{output}"


def _renamed_place(value: bytes, renamed: Mapping[str, str]) -> bytes:
    """Returns an entry of a node's `_class` with the new name of the op that the node is placed with."""
    if not value.startswith(_PLACED_WITH):
        return value
    name = value[len(_PLACED_WITH) :].decode()
    return _PLACED_WITH + renamed.get(name, name).encode()
