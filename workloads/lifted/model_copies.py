"""Towers that have a copy of the model each, with equal values and updates, as replicated variables had them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Set, Tuple

import numpy as np

from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.graph.edits import GraphCopy
from workloads.lifted.graph.tensor_names import control_inputs
from workloads.lifted.plan import ControlDependency

if TYPE_CHECKING:
    from workloads.lifted.graph import TensorId
    from workloads.lifted.plan import Combine, Effect, Phase, Plan
    from workloads.program import Arrays

#: Attributes in which nodes that compute the same may differ.
_PLACES = ("_class", "shared_name", "container", "_output_shapes")


def model_copies(plan: Plan, graph: Graph, values: Arrays) -> Dict[str, str]:
    """Finds the variables that hold the same as the first tower's, in the checkpoint and after every step.

    Statistics of a tower's own batches, on which no training depends, count as copies too.

    Args:
      plan: of the lift.
      graph: of the lift.
      values: {variable: value to start from}.

    Returns:
      {variable of a later tower: the first tower's}; empty unless each tower has a copy of all weights with gradients.
    """
    if len(plan.phases) != 1 or plan.towers < 2 or not plan.phases[0].losses:
        return {}
    comparer = _Comparer(graph, plan.phases[0], {variable.name for variable in plan.variables})
    for weights in _alike(plan, graph):
        if weights is None or not all(comparer.are_alike(weights[0], other) for other in weights[1:]):
            return {}
    pairs = comparer.pairs
    same = all(np.array_equal(values[one], values[other]) for one, other in pairs.items() if other in values)
    if not same or not all(one in values for one in pairs):
        return {}
    return {**pairs, **_statistics(plan, graph, pairs)}


def with_one_model(plan: Plan, graph: Graph, copies: Mapping[str, str]) -> Tuple[Plan, Graph]:
    """Returns a plan and a graph in which all towers read the first one's variables.

    Args:
      plan: of the lift.
      graph: of the lift.
      copies: see `model_copies`.

    Returns:
      Both, without the other towers' variables and their updates.
    """
    (phase,) = plan.phases
    left_out = {effect.node for effect in phase.effects if effect.writes[0] in copies}
    first = {effect.writes[0]: effect.node for effect in phase.effects}
    nodes = {e.node: first[copies[e.writes[0]]] for e in phase.effects if e.node in left_out}
    aliases = {tensor: copies.get(variable, variable) for tensor, variable in plan.aliases.items()}
    variables = [variable for variable in plan.variables if variable.name not in copies]
    changed = dataclasses.replace(plan, phases=[_shared(phase, copies, nodes)], aliases=aliases, variables=variables)
    return changed, _rewritten(graph, copies, left_out)


def _alike(plan: Plan, graph: Graph) -> List[Optional[List[str]]]:
    """Returns the weights whose gradients are made from the same parts, in the order of their towers.

    None stands for weights of which not each tower reads its own. A later tower may read those of the towers before it,
    too, as the penalties that there are yet.
    """
    (phase,) = plan.phases
    groups: Dict[Tuple[object, ...], List[str]] = {}
    for combine in phase.combine:
        groups.setdefault(_parts(combine), []).append(combine.weight)
    read = [graph.ancestors([parse_tensor_name(loss).node], controls=False) for loss in phase.losses]
    found: List[Optional[List[str]]] = []
    for weights in groups.values():
        readers = {name: [tower for tower, before in enumerate(read) if name in before] for name in weights}
        own = sorted(weights, key=lambda name: readers[name])
        is_one_each = [readers[name][:1] for name in own] == [[tower] for tower in range(plan.towers)]
        found.append(own if is_one_each else None)
    return found or [None]


def _statistics(plan: Plan, graph: Graph, pairs: Mapping[str, str]) -> Dict[str, str]:
    """Returns {statistic that a later tower keeps of its own batches: the first tower's}, if each keeps as many.

    Args:
      plan: of the lift.
      graph: of the lift.
      pairs: {variable of a later tower: the first tower's} of those that hold the same.

    Returns:
      The pairs; {} where anything but its own update depends on such a statistic.
    """
    (phase,) = plan.phases
    forward = [graph.ancestors([parse_tensor_name(loss).node], controls=False) for loss in phase.losses]
    shapes = {v.name: tuple(v.shape) for v in plan.variables if v.role == "statistic" and v.name not in pairs}
    kept: List[List[str]] = [[] for _ in phase.losses]
    for effect in phase.effects:
        name = effect.writes[0]
        before = graph.ancestors([effect.node], controls=False)
        towers = [k for k, own in enumerate(forward) if before & own.difference(*forward[:k], *forward[k + 1 :])]
        if name in shapes and len(towers) == 1 and name not in kept[towers[0]]:
            kept[towers[0]].append(name)
    own_effects = {name: {e.node for e in phase.effects if e.writes == [name]} for name in shapes}
    ends = {effect.node for effect in phase.effects}.union(*forward)
    used = any(
        graph.descendants([name], controls=False) & ends - own_effects[name] - {name} for name in sum(kept[1:], [])
    )
    alike = all([shapes[name] for name in names] == [shapes[name] for name in kept[0]] for names in kept)
    return {} if used or not alike else {name: first for names in kept[1:] for name, first in zip(names, kept[0])}


def _parts(combine: Combine) -> Tuple[object, ...]:
    return combine.kind, combine.scale, combine.affine, tuple(map(tuple, combine.parts))


class _Comparer:
    """Compares how variables are changed.

    Args:
      graph: of the lift.
      phase: the train op.
      variables: names of all variables.

    Attributes:
      pairs: {variable: the one that has the same value if each pair of these has}.
    """

    def __init__(self, graph: Graph, phase: Phase, variables: Set[str]) -> None:
        self._graph, self._variables = graph, variables
        self._effects: Dict[str, List[Effect]] = {}
        for effect in phase.effects:
            for name in effect.writes:
                self._effects.setdefault(name, []).append(effect)
        self.pairs: Dict[str, str] = {}
        self._same: Set[Tuple[TensorId, TensorId]] = set()

    def are_alike(self, first: str, other: str) -> bool:
        """Returns whether two variables are changed by the same ops, given that `pairs` hold the same before."""
        if first == other or self.pairs.get(other) == first:
            return True
        if other in self.pairs or first in self.pairs or first not in self._variables or other not in self._variables:
            return False
        self.pairs[other] = first
        ones, others = self._effects.get(first, []), self._effects.get(other, [])
        return len(ones) == len(others) and all(map(self._are_effects_alike, ones, others))

    def _are_effects_alike(self, one: Effect, other: Effect) -> bool:
        if one is other or one.op != other.op or one.condition or other.condition:
            return False
        if len(one.writes) != len(other.writes) or len(one.values) != len(other.values):
            return False
        if not self._have_same_attributes(one.node, other.node):
            return False
        values = zip(map(parse_tensor_name, one.values), map(parse_tensor_name, other.values))
        return all(map(self.are_alike, one.writes, other.writes)) and all(self._is_same(*pair) for pair in values)

    def _is_same(self, one: TensorId, other: TensorId) -> bool:
        """Returns whether two tensors are computed alike."""
        if one == other or (one, other) in self._same:
            return True
        if one.output != other.output:
            return False
        if one.node in self._variables or other.node in self._variables:
            return self.are_alike(one.node, other.node)
        before, others = self._graph.inputs(one.node), self._graph.inputs(other.node)
        if not self._have_same_attributes(one.node, other.node) or len(before) != len(others):
            return False
        if not before and self._graph.type(one.node) != "Const":  # such as a random number, or data
            return False
        self._same.add((one, other))
        return all(map(self._is_same, before, others))

    def _have_same_attributes(self, one: str, other: str) -> bool:
        first, second = self._graph.nodes[one], self._graph.nodes[other]
        return first.op == second.op and _attributes(first) == _attributes(second)


def _attributes(node: Any) -> Dict[str, Any]:
    return {key: value for key, value in node.attr.items() if key not in _PLACES}


def _shared(phase: Phase, copies: Mapping[str, str], nodes: Mapping[str, str]) -> Phase:
    """Returns a train op without the changes of copies.

    Args:
      phase: the train op.
      copies: see `model_copies`.
      nodes: {op that changes a copy: the one that changes the first tower's variable}.

    Returns:
      The train op.
    """
    pins = [
        ControlDependency(nodes.get(one.before, one.before), nodes.get(one.after, one.after))
        for one in phase.control_dependencies
    ]
    races = [race for race in phase.races if race.variable not in copies]
    return dataclasses.replace(
        phase,
        effects=[effect for effect in phase.effects if effect.node not in nodes],
        combine=[combine for combine in phase.combine if combine.weight not in copies],
        gradients=[{n: one for n, one in tower.items() if n not in copies} for tower in phase.gradients],
        raw=[{n: one for n, one in tower.items() if n not in copies} for tower in phase.raw],
        control_dependencies=pins,
        races=races,
        other_control_dependencies=[],
    )


def _rewritten(graph: Graph, copies: Mapping[str, str], left_out: Set[str]) -> Graph:
    """Returns a graph in which reads of copies are reads of the first tower's variables.

    Args:
      graph: of the lift.
      copies: see `model_copies`.
      left_out: ops that change copies, which do nothing in the result.

    Returns:
      The graph.
    """
    result = GraphCopy(graph)
    for node in result.nodes.values():
        node.input[:] = [_first_tower(text, copies) for text in node.input]
        if node.name in left_out:
            node.op = "NoOp"
            node.attr.clear()
            node.input[:] = control_inputs(node)
    return result.graph()


def _first_tower(text: str, copies: Mapping[str, str]) -> str:
    """Returns an input of a node, of a copy the first tower's variable."""
    control, name = text[:1] == "^", text.lstrip("^").partition(":")[0]
    if name not in copies:
        return text
    return ("^" if control else "") + text.lstrip("^").replace(name, copies[name], 1)
