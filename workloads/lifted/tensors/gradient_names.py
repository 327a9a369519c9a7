"""Names that `tf.gradients` gives to its nodes: the link from a gradient op to its forward op, and to the loss.

A saved graph does not say which op another one differentiates; only the names tell. For the forward op
"tower_0/conv" the gradient ops are called "gradients/tower_0/conv_grad/...", in whatever name scope `tf.gradients`
was called.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence

from workloads.lifted.graph import Graph

#: The name scope that `tf.gradients` opens.
GRADIENTS = re.compile(r"(^|/)gradients(_\d+)?/")
#: The derivative of the loss by itself, where a gradient graph starts: "gradients/Fill", "tower_0/gradients/grad_ys_0".
ROOT = re.compile(r"^(.*/)?gradients(_\d+)?/(Fill(_\d+)?|grad_ys_\d+|Const(_\d+)?|ones(_like)?(_\d+)?)$")

#: Names whose scopes are kept: they are asked for many times, of all nodes of a graph.
MOST_NAMES = 1 << 17
#: Graphs whose gradient graphs are kept: a saved one, and the part of it that a step runs.
MOST_GRAPHS = 4
#: Op types of variables, which no gradient graph has.
VARIABLES = ("Variable", "VariableV2", "VarHandleOp", "AutoReloadVariable")
#: Beginnings of its name in that scope: most nodes can be told by these alone.
ROOT_NAMES = ("Fill", "grad_ys_", "Const", "ones")


def is_of_gradients(name: str) -> bool:
    """Returns whether a node is in a gradient graph or is a backward op, by its name."""
    return bool(in_gradient_graphs([name])) or is_gradient_op(name)


def in_gradient_graphs(names: Iterable[str]) -> set[str]:
    """Returns the nodes that `tf.gradients` made, in the name scope that it opens.

    A scope that has the name of a node is that op's own, such as that of a summary "w/gradients" of gradients.

    >>> in_gradient_graphs(["w", "tower_0/gradients_1/Fill"])
    {'tower_0/gradients_1/Fill'}
    >>> in_gradient_graphs(["w/gradients", "w/gradients/tag"])
    set()
    """
    candidates = {name for name in names if "gradients" in name}
    return {name for name in candidates if any(scope[:-1] not in candidates for scope in _scopes(name))}


@functools.lru_cache(maxsize=MOST_GRAPHS)
def gradient_nodes(graph: Graph) -> frozenset[str]:
    """Returns the nodes of a graph that `tf.gradients` made; they are looked for once, and asked for many times.

    A program's own scope may have that name, too, such as that of variables in which gradients are added up: these are
    none, and nor is what is computed of them alone, as their mean.
    """
    found = in_gradient_graphs(graph.nodes)
    variables = found.intersection(graph.of_types(*VARIABLES))
    return frozenset(found - _of_variables(graph, variables, found) if variables else found)


def _of_variables(graph: Graph, variables: Collection[str], found: Collection[str]) -> set[str]:
    """Returns variables in the scope of a gradient graph, with their ops, and what is computed of them alone there.

    Args:
      graph: the graph.
      variables: those whose names are in such a scope.
      found: all nodes in such scopes.
    """
    own = {name for name in found if any(name.startswith(f"{variable}/") for variable in variables)}.union(variables)
    backward = {name for name in found if name not in own and (is_gradient_op(name) or gradient_scope(name))}
    gradients = graph.descendants(backward, controls=False)
    return own | graph.descendants(own, controls=False).intersection(found) - gradients


@functools.lru_cache(maxsize=MOST_NAMES)
def is_gradient_op(name: str) -> bool:
    """Returns whether a node is part of the gradient function of one forward op.

    A program may name the scope of a gradient graph, `tf.gradients(..., name="grads")`, and a scope of its own may end
    in "_grad", too: a gradient op has a scope before the name of its forward op.

    >>> is_gradient_op("Train_grad/gradients/loss_grad/mul"), is_gradient_op("Train_grad/gradients/Fill")
    (True, False)
    >>> is_gradient_op("grads/loss_grad/mul"), is_gradient_op("Train_grad/mul")
    (True, False)
    """
    end = name.rfind("_grad/")
    if end < 0:
        return False
    if name.startswith("gradients/") or "/gradients/" in name[:end]:  # most: soonest told
        return True
    opened = GRADIENTS.search(name)
    return opened.end() <= end if opened else "/" in name[:end]


def gradient_scope(root: str) -> str | None:
    """Returns the name scope of the gradient graph that starts at a node, or None if none starts there.

    >>> gradient_scope("tower_0/gradients_1/grad_ys_0")
    'tower_0/gradients_1/'
    """
    match = ROOT.match(root) if root.rpartition("/")[2].startswith(ROOT_NAMES) else None
    return root[: match.start(3)] if match else None


def forward_name(name: str, nodes: Collection[str] = ()) -> str | None:
    """Returns the forward op that a gradient op differentiates, or None if the name does not tell.

    A program may call `tf.gradients` in a name scope "gradients" of its own, and gradients may be differentiated, too:
    the graph's nodes tell where the scope of the gradient graph ends.

    >>> forward_name("tower_0/gradients_1/tower_0/conv_grad/Reshape")
    'tower_0/conv'
    >>> forward_name("gradients/gradients/conv_grad/Reshape", ["conv"])
    'conv'
    """
    found = [forward_name_in(name, scope, nodes) for scope in _scopes(name)]
    return next((forward for forward in found if forward in nodes), found[0] if found else None)


@functools.lru_cache(maxsize=MOST_NAMES)
def _scopes(name: str) -> tuple[str, ...]:
    """The beginnings of a name that end with "gradients/", the shortest first."""
    scopes: list[str] = []
    match = GRADIENTS.search(name)
    while match:
        scopes.append(name[: match.end()])
        match = GRADIENTS.search(name, match.end() - 1)  # the slash begins the next scope, too
    return tuple(scopes)


def forward_name_in(name: str, scope: str, nodes: Collection[str] = ()) -> str | None:
    """Returns the forward op that a gradient op of one gradient graph differentiates.

    A graph that is imported into a name scope, or copied as the replicas of Grappler's auto parallel, has that scope
    before all names, and once only in those of gradient ops.

    Args:
      name: of the gradient op.
      scope: of the gradient graph, with the slash: "gradients/".
      nodes: names of the graph's nodes, which decide where a name scope of the program ends in "_grad", too.

    Returns:
      The forward op's name; None if the node is not in the scope or belongs to no forward op.

    >>> forward_name_in("gradients/tower_0/loss_grad/Reshape", "gradients/")
    'tower_0/loss'
    >>> forward_name_in("gradients/G_grad/mul_grad/Mul", "gradients/", ["G_grad/mul"])
    'G_grad/mul'
    >>> forward_name_in("copy/a/gradients/a/loss_grad/Mul", "copy/a/gradients/", ["copy/a/loss"])
    'copy/a/loss'
    """
    if not name.startswith(scope):
        return None
    parts = name[len(scope) :].split("/")
    found = ["/".join(parts[:i] + [part[: -len("_grad")]]) for i, part in enumerate(parts) if part.endswith("_grad")]
    known = next((forward for forward in found if forward in nodes), None)
    return known or _imported_name(scope, found, nodes) or (found[0] if found else None)


def _imported_name(scope: str, names: Sequence[str], nodes: Collection[str]) -> str | None:
    """Returns the first of some names that is a node's behind the beginning of a scope; None if none is."""
    ends = [place + 1 for place, letter in enumerate(scope) if letter == "/"] if nodes else []
    return next((scope[:end] + name for end in ends for name in names if scope[:end] + name in nodes), None)
