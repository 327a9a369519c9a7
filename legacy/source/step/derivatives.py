"""Derivatives of a loss by its weights, also where a train op adds them to other variables than the weights."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence

from legacy.saved.analysis.gradients import nearest_derivative, nearest_derivatives
from legacy.saved.graph.differentiation import differentiations
from legacy.saved.graph.imported import imported_graph
from legacy.source.basics.unwritten import Unwritten
from workloads.lifted.graph import made_dense, parse_tensor_name
from workloads.lifted.plan import TensorType, indices_label, is_indices_label, weight_of_label

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from workloads.lifted.graph import Graph, TensorId
    from workloads.lifted.plan import Phase, Plan, Variable


#: Type of the op that makes a dense gradient of rows.
SUM_OF_ROWS = "UnsortedSegmentSum"


def with_derivatives(plan: Plan, graph: Graph) -> Plan:
    """Returns the plan with what a source has to know of the gradients before any clipping.

    Args:
      plan: of the lift.
      graph: of the lift.

    Returns:
      The plan, in which each variable that gradients are added to belongs to its weight (`Variable.of`), with the types
      of all gradients.

    Raises:
      Unwritten: neither updates, name nor shape tell the weight whose gradients a variable accumulates.
    """
    towers = range(plan.towers)
    raw = [raw_gradients(graph, phase, tower) for phase in plan.phases if phase.gradients for tower in towers]
    labels = {weight_of_label(label) for gradients in raw for label in gradients}
    weights = [variable for variable in plan.variables if variable.role == "weight"]
    sums = [v for v in plan.variables if v.name in labels and v.role != "weight" and not v.of]
    updated = _updated_by(plan, graph, {v.name for v in sums}) if sums else {}
    owners = {v.name: updated.get(v.name) or _weight_of(v, weights) for v in sums}
    variables = [dataclasses.replace(v, of=owners[v.name]) if v.name in owners else v for v in plan.variables]
    missing = {tensor for gradients in raw for tensor in gradients.values() if tensor not in plan.tensors}
    tensors = {**plan.tensors, **types_of(graph, missing)}
    return dataclasses.replace(plan, variables=variables, tensors=tensors)


def weight_gradients(plan: Plan, graph: Graph, phase: Phase, tower: int) -> Dict[str, str]:
    """Returns a tower's gradients before any clipping by the weights that the loss is differentiated by.

    Args:
      plan: of the lift, with derivatives.
      graph: of the lift.
      phase: the train op.
      tower: number of the tower.

    Returns:
      {weight: tensor}, of rows their values, with {`indices_label(weight)`: tensor} of their indices.
    """
    owners = {variable.name: variable.of or variable.name for variable in plan.variables}
    raw = raw_gradients(graph, phase, tower)
    found: Dict[str, str] = {}
    for label, tensor in sorted(raw.items(), key=lambda item: owners.get(item[0]) != item[0]):  # weights come first
        name = weight_of_label(label)
        owner = owners.get(name, name)
        if is_indices_label(label):
            owner = indices_label(owner) if found.get(owner) == raw.get(name) else ""
        if owner:
            found.setdefault(owner, tensor)
    return found


def raw_gradients(graph: Graph, phase: Phase, tower: int) -> Dict[str, str]:
    """Returns a tower's gradients before any clipping: rows of a sparse one as the dense tensor that is made of them.

    Args:
      graph: of the lift.
      phase: the train op.
      tower: number of the tower.

    Returns:
      {weight: tensor}; where rows were clipped before they were made dense, the rows, and `indices_label(weight)`.
    """
    if not phase.raw or not all(phase.raw):
        found = phase.gradients[tower].items()

        def own(made: Sequence[TensorId]) -> List[TensorId]:
            return _own_derivatives(graph, phase, tower, made)

        return {n: part for label, one in found for n, part in _before_clipping(graph, label, one, own).items()}
    raw = {name: made_dense(graph, tensor) for name, tensor in phase.raw[tower].items()}
    for label in [label for label in raw if not is_indices_label(label) and indices_label(label) not in raw]:
        given = phase.gradients[tower].get(label, raw[label])
        if given != raw[label] and graph.type(parse_tensor_name(given).node) == SUM_OF_ROWS:
            rows = _before_clipping(graph, label, given, list)
            raw.update(rows if rows[label] == raw[label] else {})
    return raw


def _own_derivatives(graph: Graph, phase: Phase, tower: int, made: Sequence[TensorId]) -> List[TensorId]:
    """Returns those of some derivatives that are of a tower's loss, if the others are of other towers' losses.

    Args:
      graph: of the lift.
      phase: the train op.
      tower: number of the tower.
      made: the derivatives.

    Returns:
      The tower's own; all where one is not a single tower's.
    """
    owners = [_tower_of(graph, phase, derivative) for derivative in made]
    return list(made) if None in owners else [one for one, owner in zip(made, owners) if owner == tower]


def _tower_of(graph: Graph, phase: Phase, derivative: TensorId) -> Optional[int]:
    """Returns the tower whose loss a derivative is of; None if that is not one tower's."""
    before = graph.ancestors([derivative.node], controls=False)
    towers = {
        tower
        for root, targets in differentiations(graph, graph.ancestors([phase.train_op])).items()
        for tower, loss in enumerate(phase.losses)
        if root in before and parse_tensor_name(loss).node in targets
    }
    return towers.pop() if len(towers) == 1 else None


def _before_clipping(
    graph: Graph, label: str, gradient: str, own: Callable[[Sequence[TensorId]], List[TensorId]]
) -> Dict[str, str]:
    """Returns the derivative that a gradient is made from: one tensor, rows that were added, or rows clipped before.

    Where several are added, as that of a penalty which another tower has on the same weight, it is the tower's own.

    Args:
      graph: of the lift.
      label: of the gradient.
      gradient: the tensor.
      own: function from derivatives to those of them that are the tower's own; see `_own_derivatives`.

    Returns:
      {label: tensor}; with those of the rows' indices where rows were clipped.
    """
    tensor = parse_tensor_name(gradient)
    if graph.type(tensor.node) != SUM_OF_ROWS:
        made = nearest_derivatives(graph, tensor, lambda node, output: True)
        made = own(made) if len(made) > 1 else made
        found = made[0] if len(made) == 1 else None
        total = None if found else _nearest_sum_of_rows(graph, tensor)
        if total is not None:
            return _before_clipping(graph, label, total.name, own)
        return {label: found.name if found else gradient}
    values, indices = graph.inputs(tensor.node)[:2]
    found = nearest_derivative(graph, values, lambda node, output: True)
    if found is None or found == values:
        return {label: gradient}
    return {label: found.name, indices_label(label): indices.name}


def _nearest_sum_of_rows(graph: Graph, tensor: TensorId) -> Optional[TensorId]:
    """Returns the nearest dense tensor that is made of rows, among a tensor's ancestors; None for none, or several."""
    level, seen = [tensor], {tensor.node}
    while level:
        made = [one for one in level if graph.type(one.node) == SUM_OF_ROWS]
        if made:
            return made[0] if len(made) == 1 else None
        level = list(dict.fromkeys(b for one in level for b in graph.inputs(one.node) if b.node not in seen))
        seen.update(one.node for one in level)
    return None


def types_of(graph: Graph, names: Collection[str]) -> Dict[str, TensorType]:
    """Returns {tensor: type}."""
    if not names:
        return {}
    imported = imported_graph(graph).tf_graph
    tensors = [imported.get_tensor_by_name(name) for name in names]
    return {t.name: TensorType(t.dtype.name, None if t.shape.rank is None else t.shape.as_list()) for t in tensors}


def _updated_by(plan: Plan, graph: Graph, sums: Collection[str]) -> Dict[str, str]:
    """Returns {variable that gradients are added to: the weight whose update takes it}, where one update alone does.

    A global norm is made of all sums, so that each update takes the nearest.
    """
    weights = {variable.name for variable in plan.variables if variable.role == "weight"}
    owners: Dict[str, List[str]] = {}
    for effect in (effect for phase in plan.phases for effect in phase.effects if effect.writes[0] not in sums):
        taken = [effect.gradient] if effect.gradient else effect.values if effect.writes[0] in weights else []
        for name in _nearest(graph, [parse_tensor_name(tensor).node for tensor in taken], sums):
            owners.setdefault(name, []).append(effect.writes[0])
    return {name: weights[0] for name, weights in owners.items() if len(set(weights)) == 1}


def _nearest(graph: Graph, names: Sequence[str], wanted: Collection[str]) -> List[str]:
    """Returns those of the wanted nodes that are nearest before some nodes, by the number of edges between."""
    level, seen = list(names), set(names)
    while level:
        found = [node for node in level if node in wanted]
        if found:
            return found
        level = list(dict.fromkeys(before.node for node in level for before in graph.inputs(node)))
        level = [node for node in level if node not in seen]
        seen.update(level)
    return []


def _weight_of(variable: Variable, weights: Sequence[Variable]) -> str:
    """Returns the weight whose gradients a variable accumulates: the one in its name, or the only one of its shape."""
    alike = [weight.name for weight in weights if list(weight.shape) == list(variable.shape)]
    named: List[str] = [name for name in alike if f"/{name}/" in f"/{variable.name}/" or variable.name.startswith(name)]
    found = sorted(named, key=len)[-1:] or (alike if len(alike) == 1 else [])
    if not found:
        raise Unwritten(
            f"gradients: {variable.name!r} accumulates those of a weight that neither updates nor names tell"
        )
    return found[0]


def settings_of_gradients(plan: Plan, graph: Graph, phase: Phase) -> List[str]:
    """Returns the names of the scalar inputs that the towers' gradients depend on.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.

    Returns:
      The names.
    """
    return settings_before(plan, graph, [name for gradients in phase.gradients for name in gradients.values()])


def settings_before(plan: Plan, graph: Graph, tensors: Iterable[str]) -> List[str]:
    """Returns the names of the scalar inputs that some tensors depend on.

    Args:
      plan: of the lift.
      graph: of the lift.
      tensors: names of the tensors; those that the graph does not have are left out.

    Returns:
      The names.
    """
    nodes = [parse_tensor_name(name).node for name in tensors]
    before = graph.ancestors([node for node in nodes if node in graph.nodes], controls=False)
    settings = [entry for entry in plan.inputs + plan.common if entry.kind == "setting"]
    return [entry.name for entry in settings if parse_tensor_name(entry.tensors[0]).node in before]
