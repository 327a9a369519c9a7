"""Clipping among some nodes: by its name scope, or by its ops where it was written by hand, with its bounds."""

from __future__ import annotations

import collections
import re
from collections.abc import Collection, Iterable

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import scalar_constant
from legacy.saved.folding.branches import Branches
from legacy.saved.folding.decided import constant_predicates
from legacy.saved.graph import op_types
from workloads.lifted.graph import TWO_WAY_SWITCHES, Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

CLIPS = re.compile(r"^(.*?clip_by_(global_norm|norm|average_norm|value)(_\d+)?)(/|$)")
#: Name scopes of clipping and of the norm that it takes.
CLIPPING_SCOPES = re.compile(r"clip_by_|(^|/)global_norm")
NORMS = {"L2Loss", "Sqrt", "Rsqrt", "EuclideanNorm"}
#: Ops that compare with a bound, and those that scale by one.
BOUNDS = ("Minimum", "Maximum")
#: Those, and the one that is an op of its own.
CLIPPING_OPS = (*BOUNDS, "ClipByValue")
SCALES = ("Mul", "RealDiv", "Div")


class Clippings:
    """Finds clipping in one graph.

    Args:
      graph: the cut graph, or a whole one.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._inside: dict[str, list[str]] = collections.defaultdict(list)
        for name, match in [(name, CLIPS.match(name)) for name in graph.nodes if "clip_by_" in name]:
            if match:
                self._inside[match.group(1)].append(name)
        self._known: dict[tuple[str, str], str] = {}
        never = constant_predicates(graph)
        self._never = Branches(graph, never) if never else None

    def text(self, nodes: Collection[str]) -> str:
        """Returns the clipping that some nodes do, e.g. "by global norm, at 5"; "" if they do none.

        Args:
          nodes: nodes between a gradient and what an update takes. Those of whole numbers clip no gradient, but the
            indices of its rows; and the gradient of a clipping that a model computes, which has its name, is none.
            Nor is one in a branch that constants rule out, as of a bound of 0 for no clipping.
        """
        nodes = [name for name in nodes if not self._is_of_whole_numbers(name) and not is_gradient_op(name)]
        nodes = [name for name in nodes if self._may_run(name)]
        matches = [match for match in map(CLIPS.match, nodes) if match]
        kinds: dict[str, set[str]] = collections.defaultdict(set)
        for match in matches:
            kinds[match.group(2)].add(match.group(1))
        if kinds:
            return ", ".join(self._scope_text(kind, min(kinds[kind])) for kind in sorted(kinds))
        types = {self._graph.type(name) for name in nodes}
        if set(BOUNDS) & types and NORMS & types:
            bounds = _bounds_of_norm(self._graph, nodes)
            return "" if bounds is None else "by a norm, written by hand" + _numbers(bounds)
        chosen = _bounds_chosen(self._graph, nodes) if NORMS & types else []
        if chosen:
            return "by a norm, written by hand" + _numbers(chosen)
        if set(BOUNDS) <= types:
            by_hand = "" if any(self._is_end_of_function(name) for name in nodes) else ", written by hand"
            return f"by value{by_hand}" + _numbers(_constants(self._graph, nodes, BOUNDS))
        return ""

    def global_norm(self, nodes: Collection[str]) -> frozenset[str]:
        """Returns the terms of the global norm by which some nodes clip, the squares of gradients; none if none do.

        Args:
          nodes: as of `text`.
        """
        matches = [match for match in map(CLIPS.match, nodes) if match and not is_gradient_op(match.string)]
        scopes = {match.group(1) for match in matches if match.group(2) == "global_norm"}
        inside = [name for scope in scopes for name in self._inside[scope]]
        return _terms_of_norm(self._graph, [name for name in inside if self._graph.type(name) == "Minimum"])

    def _may_run(self, name: str) -> bool:
        """Whether a node is in no branch that constants rule out, nor the switch before one, which has its name."""
        if self._never is None:
            return True
        return self._graph.type(name) not in TWO_WAY_SWITCHES and not self._never.is_dead(name)

    def _is_end_of_function(self, name: str) -> bool:
        """Whether a node is what `tf.clip_by_value` returns under a name that the program gives."""
        smaller = [tensor.node for tensor in self._graph.inputs(name)] if self._graph.type(name) == "Maximum" else []
        return f"{name}/Minimum" in smaller

    def _is_of_whole_numbers(self, name: str) -> bool:
        node = self._graph.nodes[name]
        return "T" in node.attr and tf.as_dtype(node.attr["T"].type or tf.float32).is_integer

    def _scope_text(self, kind: str, scope: str) -> str:
        """The text of a name scope that clips; cached, since a clipping by global norm belongs to many gradients."""
        if (kind, scope) not in self._known:
            self._known[kind, scope] = _text(self._graph, kind, self._inside[scope])
        return self._known[kind, scope]


def _text(graph: Graph, kind: str, inside: list[str]) -> str:
    if kind == "value":
        bounds = _constants(graph, inside, BOUNDS)
    elif kind == "global_norm":  # the bound is multiplied by the smaller of 1 / norm and 1 / bound
        smaller = {name for name in inside if graph.type(name) == "Minimum"}
        scaled = [name for name in inside if smaller & {before for before, _ in graph.inputs(name)}]
        bounds = _constants(graph, scaled, SCALES)
        if len(_terms_of_norm(graph, smaller)) == 1:
            return "by the norm of each alone (a global norm of one)" + _numbers(bounds)
    elif kind == "average_norm":  # the gradient times the bound times the smaller of N / norm and 1 / bound
        quotients = set(_constants(graph, inside, op_types.DIVISIONS))
        bounds = [number for number in _constants(graph, inside, ("Mul",)) if number in quotients]
        bounds = bounds if len(bounds) == 1 else []
    else:
        bounds = _constants(graph, inside, ("Maximum",)) or _constants(graph, inside, ("Mul",))
        bounds = bounds if len(bounds) == 1 else []
    return "by " + kind.replace("_", " ") + _numbers(bounds)


def _terms_of_norm(graph: Graph, names: Collection[str]) -> frozenset[str]:
    """The squares of gradients in the norm that some nodes are computed from, one for each gradient."""
    seen, todo = set(names), list(names)
    while todo:
        name = todo.pop()
        before = {tensor.node for tensor in graph.inputs(name)} if graph.type(name) != "L2Loss" else set()
        todo += before - seen
        seen |= before
    return frozenset(name for name in seen if graph.type(name) == "L2Loss")


def _constants(graph: Graph, nodes: Iterable[str], types: Collection[str]) -> list[float]:
    """The scalar constants that nodes of some op types take, sorted."""
    found = set()
    for name in [name for name in nodes if graph.type(name) in types]:
        for before, _ in graph.inputs(name):
            value = scalar_constant(graph.nodes[_value_behind(graph, before)])
            if value is not None:
                found.add(float(value))
    return sorted(found)


def _bounds_of_norm(graph: Graph, nodes: Collection[str]) -> list[float] | None:
    """The constant bounds of a clipping by a norm that is written by hand, sorted; None if a norm is kept from 0 alone.

    The bound is c in min(1, c / norm), max(1, norm / c), min(norm, c) and max(norm, c), by which c is then divided.
    """
    found, is_bounded = set(), False
    for name in [name for name in nodes if graph.type(name) in BOUNDS and _is_behind_norm(graph, name, nodes)]:
        inputs = [_value_behind(graph, tensor.node) for tensor in graph.inputs(name)]
        numbers = [scalar_constant(graph.nodes[before]) for before in inputs]
        known = [number for number in numbers if number is not None]
        if len(known) != 1:
            is_bounded = True
        elif known[0] == 1:
            number = _constant_of_quotient(graph, inputs[numbers.index(None)])
            found |= set() if number is None else {number}
            is_bounded = True
        elif graph.type(name) == "Minimum" or known[0] in _constants(graph, nodes, SCALES):
            found.add(known[0])
    return sorted(found) if found or is_bounded else None


def _bounds_chosen(graph: Graph, nodes: Collection[str]) -> list[float]:
    """The constants c of choices by whether a norm is above c, as by `tf.where(norm > c, c / norm, 1.0)`, sorted."""
    compared = set()
    for name in [name for name in nodes if graph.type(name) in op_types.CHOICES]:
        predicate = _value_behind(graph, graph.inputs(name)[0].node)
        if graph.type(predicate) in op_types.ORDERINGS and _is_behind_norm(graph, predicate, nodes):
            compared.update(_constants(graph, [predicate], op_types.ORDERINGS))
    return sorted(compared.intersection(_constants(graph, nodes, SCALES)))


def _is_behind_norm(graph: Graph, name: str, nodes: Collection[str]) -> bool:
    """Whether a bound is put on what a norm gives, among some nodes: the root of a larger moment is no such norm."""
    among, todo = {*nodes}, [name]
    seen = {name}
    while todo:
        before = {tensor.node for tensor in graph.inputs(todo.pop())} & among - seen
        if any(graph.type(other) in NORMS for other in before):
            return True
        seen |= before
        todo += before
    return False


def _constant_of_quotient(graph: Graph, name: str) -> float | None:
    """c of a node that is c / norm, norm / c or a norm times 1 / c; None of any other."""
    if graph.type(name) not in SCALES:
        return None
    numbers = [scalar_constant(graph.nodes[_value_behind(graph, tensor.node)]) for tensor in graph.inputs(name)]
    number = next((number for number in numbers if number), None)
    return 1.0 / number if number and graph.type(name) == "Mul" else number


def _value_behind(graph: Graph, name: str) -> str:
    """The node whose value a node hands on."""
    while graph.type(name) in op_types.COPIES and graph.inputs(name):
        name = graph.inputs(name)[0].node
    return name


def _numbers(bounds: Collection[float]) -> str:
    return f", at {' and '.join(f'{bound:g}' for bound in bounds)}" if bounds else ""
