"""Branches of 1.x's `cond`: a choice between two values, of which the graph computes one and the text both.

A tensor that is not chosen gets a gradient of zeros, which changes no bit of the sum that it is added to; only where a
branch keeps its ops from numbers for which they are not finite, zero times infinity would be left: those are guarded.
So are random ops that draw by their seed: what they draw depends on how often they ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Set, Tuple

import tensorflow as tf

from legacy.saved.graph.op_types import SEEDED
from legacy.source.basics.unwritten import Unwritten
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.graph.tensor_names import data_inputs
from workloads.support.wording import counted

if TYPE_CHECKING:
    from collections.abc import Collection

v1 = tf.compat.v1

#: Attribute of a choice: names of the ops that run only where their branch is taken.
GUARDED = "_guarded"
#: Attribute of every choice that stands for a Merge: names of all ops in its branches.
OF_BRANCHES = "_of_branches"
#: Ops that fail for some numbers, such as an index beyond the end.
_FAILS = ("TensorArrayReadV3",)
#: Random ops without a stateless twin: their numbers follow from their seed and from how often they ran.
DRAWS = tuple(SEEDED)
#: Ops that are not finite, or whose gradient is not, for some numbers; the second kind by a constant always is.
_NOT_FINITE = ("Log", "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Acos", "Asin", "Norm")
_FINITE_BY_CONSTANTS = ("RealDiv", "Div", "Pow", "FloorDiv", "Mod", "FloorMod")


def merge_branches(graph_def: Any, settings: Collection[str] = ()) -> Any:
    """Replaces the branches of a graph by choices.

    Ops that fail for some numbers, are not finite, or draw by their seed, are named in `GUARDED`.

    Args:
      graph_def: the GraphDef, without loops.
      settings: placeholders of scalars with one value in all steps, which is no data; a division by it, as of a
        dropout by the share that it keeps, is finite unless the predicate depends on it.

    Returns:
      The GraphDef with a `SelectV2` for each Merge and a copy for each Switch.

    Raises:
      Unwritten: a branch depends on more than one predicate.
    """
    return with_choices(graph_def, settings) if any(node.op == "Merge" for node in graph_def.node) else graph_def


def with_choices(graph_def: Any, settings: Collection[str] = ()) -> Any:
    """Returns the GraphDef of `merge_branches`, also of a part that ends within a branch and has no Merge."""
    nodes = {node.name: node for node in graph_def.node}
    merged = v1.GraphDef()
    merged.CopyFrom(graph_def)
    for node in merged.node:
        if node.op == "Merge":
            predicate, inside, guarded = _predicate(nodes, node.name, settings)
            false, true = data_inputs(node)
            node.op = "SelectV2"
            node.attr.pop("N", None)
            for attribute, names in ((OF_BRANCHES, inside), (GUARDED, guarded)):
                if names or attribute == OF_BRANCHES:
                    node.attr[attribute].list.s.extend(name.encode() for name in sorted(names))
            node.input[:] = [predicate, true, false]
        elif node.op == "Switch":
            node.op = "Identity"
            del node.input[1:]
        node.input[:] = [_copied(nodes, text) for text in data_inputs(node)]
    return merged


def _predicate(nodes: Dict[str, Any], merge: str, settings: Collection[str]) -> Tuple[str, Set[str], Set[str]]:
    """Returns the tensor that decides which input of a Merge there is, the ops in the branches, and which may fail.

    On the way back from a Merge, each Merge of a `cond` within its branches is followed by a Switch of that one before
    the Merge's own Switch is reached.
    """
    found: Set[str] = set()
    inside: Set[str] = set()
    todo = [(merge, 0)]
    seen: Set[Tuple[str, int]] = set(todo)
    while todo:
        node, inner = todo.pop()
        for name in _before(nodes, node):
            if nodes[name].op == "Switch" and not inner:
                found.add(_source(nodes, nodes[name].input[1]))
                continue
            inside.add(name)
            depth = inner + {"Switch": -1, "Merge": 1}.get(nodes[name].op, 0)
            if (name, depth) not in seen:
                seen.add((name, depth))
                todo.append((name, depth))
    if len(found) != 1:
        raise Unwritten(f"model: the branches that {merge!r} joins depend on {counted(len(found), 'predicate')}")
    predicate = found.pop()
    given = set(settings) - _sources(nodes, predicate)
    guarded = {name for name in inside if nodes[name].op in _FAILS + DRAWS or not _is_finite(nodes, name, given)}
    return predicate, inside, guarded


def _before(nodes: Dict[str, Any], name: str) -> List[str]:
    """Returns the ops that an op takes its inputs from; of one without inputs, those that it follows.

    A branch's ops take what is in it. Its constants have no inputs, and follow its beginning; control edges to other
    ops lead out of it, as to an assertion that ran before it.
    """
    data = [parse_tensor_name(text).node for text in data_inputs(nodes[name])]
    controls = [text[1:] for text in nodes[name].input if text.startswith("^")]
    return data or [control for control in controls if _begins_branch(nodes, control)] or controls


def _begins_branch(nodes: Dict[str, Any], name: str) -> bool:
    """Whether an op is the copy of a predicate that the ops of a branch wait for."""
    copied = nodes[name].input[0] if nodes[name].op == "Identity" and nodes[name].input else ""
    return bool(copied) and nodes[parse_tensor_name(copied).node].op == "Switch"


def _is_finite(nodes: Dict[str, Any], name: str, settings: Collection[str]) -> bool:
    """Returns whether an op and its gradient are finite for all numbers, so that a branch need not keep any from it."""
    node = nodes[name]
    by = [text for text in node.input[1:2] if not text.startswith("^")]
    constant = all(nodes[parse_tensor_name(_source(nodes, text)).node].op == "Const" for text in by)
    constant = constant or all(_sources(nodes, text) <= set(settings) for text in by)
    return node.op not in _NOT_FINITE and (constant or node.op not in _FINITE_BY_CONSTANTS)


def _sources(nodes: Dict[str, Any], text: str) -> Set[str]:
    """Returns the ops without inputs, but for constants, that a tensor is computed from, whichever branch is taken."""
    found: Set[str] = set()
    seen, todo = set(), [parse_tensor_name(text).node]
    while todo:
        node = nodes[todo.pop()]
        if node.name in seen:
            continue
        seen.add(node.name)
        inputs = [one for one in node.input if not one.startswith("^")][: 1 if node.op == "Switch" else None]
        todo += [parse_tensor_name(one).node for one in inputs]
        if not inputs and node.op != "Const":
            found.add(node.name)
    return found


def _source(nodes: Dict[str, Any], text: str) -> str:
    """Returns the tensor that a tensor is a copy of, also in a branch."""
    while nodes[parse_tensor_name(text).node].op in ("Identity", "Switch"):
        text = nodes[parse_tensor_name(text).node].input[0]
    return parse_tensor_name(text).name


def _copied(nodes: Dict[str, Any], text: str) -> str:
    """Returns an input with the only output of the copy in place of either output of a Switch."""
    tensor = parse_tensor_name(text)
    if nodes[tensor.node].op == "Merge" and tensor.output:
        raise Unwritten(f"model: it uses which branch {tensor.node!r} took")
    return tensor.node if nodes[tensor.node].op == "Switch" else text
