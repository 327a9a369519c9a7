"""Random numbers that an update draws, such as noise on gradients: one draw for all replicas, or one of each."""

from __future__ import annotations

import collections
import re
from typing import TYPE_CHECKING, Collection, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import tensorflow as tf

from legacy.saved.graph.imported import imported_graph
from legacy.source.basics.expressions import Expression, Literal, Name, call
from legacy.source.basics.rendering import literal_text
from workloads.lifted.graph import parse_tensor_name, tensor_name
from workloads.lifted.plan import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Effect, Noise, Plan

#: {random op: function of a scope that draws such numbers}.
_FUNCTIONS = {"RandomUniform": "uniform", "RandomStandardNormal": "normal", "TruncatedNormal": "truncated_normal"}
#: The table of the text that has the stream of the noise on each weight's gradient.
NOISES = "NOISES"
#: A weight's gradient in the text of an update.
_GRADIENT = re.compile(r'gradients\["(.*?)"\]')


class UpdateNoise(NamedTuple):
    """Random numbers of an update.

    Attributes:
      given: {tensor: expression} of these numbers.
      types: {tensor: its type}.
      streams: {weight: stream of the noise on its gradient}, as far as the text looks it up.
      lines: lines that draw each replica's numbers and gather them.
    """

    given: Dict[str, Expression]
    types: Dict[str, TensorType]
    streams: Dict[str, str]
    lines: List[str]


class _Drawn(NamedTuple):
    """Random numbers that an update uses: stream, op type, shape, and the weight whose gradient meets them."""

    entry: Noise
    shape: Tuple[int, ...]
    weight: str


def noise_of_update(
    plan: Plan, graph: Graph, effects: Sequence[Effect], given: Mapping[str, Expression], taken: Mapping[str, str]
) -> UpdateNoise:
    """Finds the random numbers that an update draws.

    Args:
      plan: of the lift.
      graph: of the lift.
      effects: the changes of the update.
      given: {tensor: expression} of what it begins with.
      taken: {weight: stream} of other updates.

    Returns:
      The numbers; those that no function of a scope draws are left out.
    """
    ends = [parse_tensor_name(value).node for effect in effects for value in effect.values]
    inside = graph.ancestors(ends, stop=[parse_tensor_name(name).node for name in given])
    common, own = (_drawn(plan, graph, entries, inside, given) for entries in (plan.common_noise, plan.noise))
    counts = collections.Counter(one.weight for one in [*common, *own])
    streams = {
        one.weight: one.entry.name
        for one in [*common, *own]
        if one.weight and counts[one.weight] == 1 and taken.get(one.weight, one.entry.name) == one.entry.name
    }
    shapes = {v.name: tuple(v.shape) for v in plan.variables}
    made = UpdateNoise({}, {}, {}, [])
    for one in common:
        is_known = one.weight in streams
        stream = Name(f"{NOISES}[{literal_text(one.weight)}]") if is_known else Literal(one.entry.name)
        shape = Name(f"values[{literal_text(one.weight)}].shape") if shapes.get(one.weight) == one.shape else None
        (node,) = filter(None, one.entry.nodes)
        drawn = call(f"scope.common.{_FUNCTIONS[one.entry.op]}", stream, shape or Literal(list(one.shape)))
        made.given[tensor_name(node, 0)] = drawn
        made.types[tensor_name(node, 0)] = TensorType("float32", list(one.shape))
        made.streams.update({one.weight: one.entry.name} if is_known else {})
    functions = {_FUNCTIONS[one.entry.op] for one in own}
    if len(functions) == 1 and all(one.weight in streams and shapes[one.weight] == one.shape for one in own):
        made.lines.extend(_gathered(functions.pop(), bool(made.streams), [one.weight for one in own]))
        for one in own:
            made.streams[one.weight] = one.entry.name
            for tower, tensor in enumerate(tensor_name(str(node), 0) for node in one.entry.nodes):
                made.given[tensor] = Name(f"noises[{literal_text(one.weight)}][{tower}]")
                made.types[tensor] = TensorType("float32", list(one.shape))
    return made


def _gathered(function: str, is_mixed: bool, weights: Sequence[str]) -> List[str]:
    """Returns the lines that draw noise for some weights' gradients on each replica, and gather it.

    Args:
      function: of a scope.
      is_mixed: whether the table has other weights, too.
      weights: the weights.

    Returns:
      The lines.
    """
    names = literal_text(tuple(weights)) if is_mixed else NOISES
    return [
        f"    noises = {{name: scope.{function}({NOISES}[name], values[name].shape) for name in {names}}}",
        "    noises = {name: gather(context, noise) for name, noise in noises.items()}",
    ]


def _drawn(
    plan: Plan, graph: Graph, entries: Sequence[Noise], inside: Collection[str], given: Mapping[str, Expression]
) -> List[_Drawn]:
    """Returns the random numbers of an update that a function of a scope draws; see `noise_of_update`.

    Args:
      plan: of the lift.
      graph: of the lift.
      entries: its random numbers.
      inside: nodes of the update.
      given: {tensor: expression} of what it begins with.
    """
    candidates = [entry for entry in entries if _may_be_drawn(graph, entry, inside)]
    if not candidates:
        return []  # no graph is built for most updates, which draw nothing
    imported, found = imported_graph(graph), []
    for entry in candidates:
        nodes = [str(node) for node in entry.nodes]
        shapes = {imported.shape(node, 0) for node in nodes}
        shape = shapes.pop() if len(shapes) == 1 else None
        sizes = tuple(size for size in shape if size is not None) if shape is not None else ()
        if shape is not None and len(sizes) == len(shape):
            found.append(_Drawn(entry, sizes, _weight(graph, nodes[0], inside, given)))
    return found


def _may_be_drawn(graph: Graph, entry: Noise, inside: Collection[str]) -> bool:
    """Whether random numbers are drawn in an update, outside of loops, in every tower that draws any, as float32."""
    if entry.how != "keyed" or entry.in_loop or entry.op not in _FUNCTIONS or not entry.nodes:
        return False
    if not all(node and node in inside for node in entry.nodes):
        return False
    return all(graph.nodes[str(node)].attr["dtype"].type == tf.float32.as_datatype_enum for node in entry.nodes)


def _weight(graph: Graph, noise: str, inside: Collection[str], given: Mapping[str, Expression]) -> str:
    """Returns the weight whose gradient is the first that some noise meets; "" if it meets none, or several at once."""
    gradients: Dict[str, str] = {}
    for name, expression in given.items():
        found = _GRADIENT.match(expression.text) if isinstance(expression, Name) else None
        if found is not None:
            gradients[parse_tensor_name(name).node] = found.group(1)
    users: Dict[str, Set[str]] = {}
    for name in inside:
        for tensor in graph.inputs(name):
            users.setdefault(tensor.node, set()).add(name)
    todo: Optional[Set[str]] = {noise}
    seen: Set[str] = set()
    while todo:
        seen |= todo
        todo = {user for name in todo for user in users.get(name, ())} - seen
        met = {gradients[name] for name in graph.ancestors(todo, stop=list(gradients), controls=False) & set(gradients)}
        if met:
            return met.pop() if len(met) == 1 else ""
    return ""
