"""Calls of functions in a graph's library, such as those of `Defun`: the source has their bodies in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Set

import tensorflow as tf

from legacy.source.basics.unwritten import Unwritten
from workloads.lifted.double.functions import Body
from workloads.lifted.double.signatures import Signatures
from workloads.lifted.graph import forget_placement
from workloads.lifted.graph.tensor_names import control_inputs, data_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping

v1 = tf.compat.v1

#: Ops that call the function that their attribute `f` names.
_CALLS = ("PartitionedCall", "StatefulPartitionedCall")


def with_bodies(graph_def: Any) -> Any:
    """Returns a graph in which the bodies of functions stand for their calls, whose names and outputs stay.

    The gradient that an author gave a function is no part of its body; the proof of a source finds one that differs
    from the body's own.

    Args:
      graph_def: the GraphDef.

    Returns:
      The GraphDef; the same one if it has no calls.

    Raises:
      Unwritten: a function has state or random numbers, or calls one that has.
    """
    library = {function.signature.name: function for function in graph_def.library.function}
    if not any(_called(node) in library for node in graph_def.node):
        return graph_def
    signatures = Signatures(library)
    result = v1.GraphDef(versions=graph_def.versions, library=graph_def.library)
    todo = list(graph_def.node)
    while todo:
        node = todo.pop(0)
        name = _called(node)
        if name not in library:
            result.node.add().CopyFrom(node)
            continue
        if any(_has_state(inner, signatures) for one in _called_by(name, library) for inner in one.node_def):
            raise Unwritten(f"model: function {name!r}, which {node.name!r} calls, has state or random numbers")
        todo[:0] = _inlined(node, Body(library[name], signatures))
    return result


def _called(node: Any) -> str:
    """Returns the name of the function that a node calls; that of its op if it calls none by an attribute."""
    return str(node.attr["f"].func.name if node.op in _CALLS else node.op)


def _called_by(name: str, library: Mapping[str, Any]) -> List[Any]:
    """Returns a function and all that it calls, directly or by others."""
    found: Dict[str, Any] = {}
    todo = [name]
    while todo:
        one = todo.pop()
        if one in library and one not in found:
            found[one] = library[one]
            todo += [_called(node) for node in library[one].node_def]
    return list(found.values())


def _has_state(node: Any, signatures: Signatures) -> bool:
    """Returns whether a node of a body has state, or is not known; calls are judged by their own bodies."""
    called = _called(node)
    if signatures.is_function(called):
        return False
    return not signatures.knows(called) or bool(signatures.definition(called).is_stateful)


def _inlined(call: Any, body: Body) -> List[Any]:
    """Returns the nodes of a call's body, and one with the call's name and outputs."""
    given, controls = data_inputs(call), control_inputs(call)
    scope = call.name + "/"
    made: List[Any] = []
    arguments: Set[str] = set()
    for place, node in enumerate(body.graph_def().node):
        forget_placement(node)
        if place < len(given):
            arguments.add(node.name)
            inner = v1.NodeDef(name=scope + node.name, op="Identity", input=[given[place], *controls])
            inner.attr["T"].type = node.attr["dtype"].type
        else:
            inner = node
            texts = ["^" + scope + text[1:] if text.startswith("^") else scope + text for text in node.input]
            inner.name = scope + node.name
            inner.input[:] = texts if texts or not made else ["^" + made[0].name]  # a constant is in the call's loop
        made.append(inner)
    end = v1.NodeDef(name=call.name, op="IdentityN", device=call.device)
    end.input.extend(scope + text for text in body.results())
    end.attr["T"].list.type.extend(argument.type for argument in body.function.signature.output_arg)
    return [*made, end]
