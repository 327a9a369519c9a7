"""Hazards of gradients: applied to other variables, without any of the data, or of towers with unequal weights."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.copies import BOOKKEEPING, masters_of_copies
from legacy.saved.hazards.basics.directions import applied_gradient
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from legacy.saved.hazards.basics.linear_weights import COPIES, linear_weights
from legacy.saved.hazards.basics.variable_reads import READS_IN_BRANCHES, variable_read
from legacy.saved.hazards.penalties.terms import find_penalties
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import is_indices_label, weight_of_label
from workloads.lifted.tensors.gradient_names import forward_name, is_gradient_op
from workloads.support.wording import FEW, counted, listed

#: Relative difference within which two towers' gradients count alike.
TOLERANCE = 1e-4
#: (op type, whether its bound is 0 or above, 0 or below) of ops whose results have one sign.
_ONE_SIGN = {("Maximum", True, False), ("Maximum", True, True), ("Minimum", False, True), ("Minimum", True, True)}


def gradients_of_others(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds updates that take the gradient of another variable, as lists in different orders give; one for all."""
    wrong = {}
    masters = masters_of_copies(whole)
    for apply in whole.applies:
        variable = whole.variable_of(apply)
        if variable in whole.trainable and op_types.is_apply(whole.graph.type(apply)):
            others = _variables_of_gradient(whole, applied_gradient(whole, apply))
            others = [other for other in others if masters.get(other) != variable]
            if set(others) - {variable} and _is_given_others_alone(whole, apply, str(variable)):
                wrong[variable] = (apply, next(other for other in others if other != variable))
    if wrong:
        variable, (apply, other) = next(iter(wrong.items()))
        yield Hazard(
            "GRADIENT_OF_ANOTHER",
            apply,
            f"the updates of {counted(len(wrong), 'variable')} ({listed(list(wrong), FEW)}) take gradients of "
            f"others: that of {variable} takes the one of {other}",
            "pair each gradient with its variable; for parity, exchange them as the old program did",
        )


def _variables_of_gradient(whole: WholeGraph, name: str) -> list[str]:
    """The variables that the forward ops use whose gradient ops give a gradient; [] if one of them does not tell."""
    found: list[str] = []
    for leaf in _leaves(whole, name):
        forward = forward_name(leaf, whole.graph.nodes)
        used = _variables_used(whole, forward) if forward in whole.graph.nodes else set()
        if len(used) != 1:
            return []
        found += used
    return found


def _leaves(whole: WholeGraph, name: str) -> dict[str, float]:
    """{gradient op that a gradient is a linear function of: its weight}."""
    weights = linear_weights(whole, name) if name else {}
    copies = ("Identity", "AddN")
    return {n: weight for n, weight in weights.items() if is_gradient_op(n) and whole.graph.type(n) not in copies}


def _variables_used(whole: WholeGraph, name: str | None) -> set[str]:
    """The variables that a node takes as they are."""
    inputs = whole.graph.inputs(name or "")
    return {variable_read(whole.graph, tensor.node, READS_IN_BRANCHES) for tensor in inputs} - {""}


def _is_given_others_alone(whole: WholeGraph, apply: str, variable: str) -> bool:
    """Whether some tower that uses a variable gives its update gradients of other variables alone."""
    by_tower: dict[int, set[str]] = {}
    for leaf in _leaves(whole, applied_gradient(whole, apply)):
        tower = _tower(whole, leaf)
        if tower is not None:
            by_tower.setdefault(tower, set()).update(_variables_used(whole, forward_name(leaf, whole.graph.nodes)))
    return any(variable not in used and _uses(whole, tower, variable) for tower, used in by_tower.items())


def _tower(whole: WholeGraph, name: str) -> int | None:
    """The tower that a node belongs to; None for one that belongs to none, as what initializes or saves a variable."""
    return whole.labels.get(name) if whole.count > 1 else 0


def _uses(whole: WholeGraph, tower: int, variable: str) -> bool:
    """Whether a tower computes with a variable; towers with variables of their own do not with those of others."""
    todo = [variable]
    while todo:
        for user, _, _ in whole.graph.users(todo.pop()):
            if whole.graph.type(user) in READS_IN_BRANCHES:
                todo.append(user)
            computes = whole.graph.type(user) not in BOOKKEEPING and user not in whole.writes
            if computes and _tower(whole, user) == tower and not is_gradient_op(user):
                return True
    return False


def gradients_without_data(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops with a loss of data that train some weights by gradients of penalties alone."""
    masters = masters_of_copies(whole)
    for phase in found.plan.phases:
        rules = found.context.state.rules
        updates = [effect for effect in phase.effects if effect.node in rules and effect.gradient is not None]
        ends = {effect.writes[0]: parse_tensor_name(str(effect.gradient)).node for effect in updates}
        trained = {name: end for name, end in ends.items() if end in whole.graph.nodes}
        behind = {name: _behind_kept(whole, end, name) for name, end in trained.items() if end not in whole.data}
        behind = {name: nodes for name, nodes in behind.items() if nodes.isdisjoint(whole.data)}
        has_data = bool(phase.losses) and parse_tensor_name(phase.losses[0]).node in whole.data
        if not has_data and len(behind) == len(trained):
            continue
        idle = [name for name in behind if name in whole.trainable]
        idle = [name for name in idle if _penalized(whole, behind[name], name, masters)]
        if idle:
            which = "all its variables" if len(idle) == len(trained) else counted(len(idle), "variable")
            yield Hazard(
                "GRADIENT_WITHOUT_DATA",
                phase.train_op,
                f"the gradients of {which} ({listed(idle, FEW)}) depend on no data: {phase.train_op} trains "
                f"{'them' if len(idle) > 1 else 'it'} by penalties alone",
                "look for what stops the gradient, such as argmax, or whether the model uses the variables at all",
            )


def _behind_kept(whole: WholeGraph, gradient: str, variable: str) -> set[str]:
    """The nodes that a gradient is computed from, also by way of variables that keep gradients between runs.

    A number that the runs change, such as a loss scale, which follows from whether gradients are finite, keeps none of
    a weight that is no number.
    """
    graph, followed = whole.graph, set(whole.trainable)
    written = set(whole.writes.values())
    nodes = graph.ancestors([gradient], controls=False)
    while True:
        kept = {name for name in written - followed if name in nodes and graph.type(name) in op_types.VARIABLES}
        kept = {name for name in kept if whole.is_scalar(variable) or not whole.is_scalar(name)}
        writes = [name for name, changed in whole.writes.items() if changed in kept and name in whole.members]
        if not writes:
            return nodes
        followed |= kept
        values = [before.node for name in writes for before in graph.inputs(name)[1:]]
        nodes |= graph.ancestors(values, controls=False)


def _penalized(whole: WholeGraph, before: Collection[str], variable: str, masters: Mapping[str, str]) -> bool:
    """Whether a gradient is computed from its variable, as that of a penalty is.

    A gradient that other weights alone make is none of a penalty: so is that of a bias before a linear layer whose mean
    is minimized, such as the head of a critic. Nor is one that other weights help to make, such as that of a prior's
    scale, which follows them, unless there is a penalty of the variable.

    Args:
      whole: the graph.
      before: the nodes that the gradient is computed from.
      variable: the one that it trains.
      masters: {variable: the one whose value it is set to}.
    """
    used = {name for name in before if whole.graph.type(name) in op_types.VARIABLES}
    used = {masters.get(name, name) for name in used if name in whole.trainable or name in masters}
    has_penalty = any(variable in penalty.variables for penalty in find_penalties(whole))
    return used == {variable} or (variable in used and has_penalty)


def towers_of_unequal_weight(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds updates in which towers' gradients have different weights; one hazard for all.

    Weights like the numbers of rows that the towers take make a mean over all examples.
    """
    if whole.count < 2:
        return
    for apply in whole.applies:
        each = (_weights_by_tower(whole, name) for name in _behind_factors(whole, applied_gradient(whole, apply)))
        weights = next((found for found in each if len(found) == whole.count), {})
        least, most = min(weights.values(), default=0.0), max(weights.values(), default=0.0)
        if len(weights) == whole.count and most - least > TOLERANCE * most and not _are_rows(whole, weights):
            shares = ", ".join(f"{weights[tower]:.4g}" for tower in whole.towers())
            yield Hazard(
                "TOWERS_WEIGHTED",
                apply,
                f"the gradients of {listed_towers(list(whole.towers()))} count {shares} times in {apply}",
                "a gradient that is listed twice counts twice, and the last one more in a running (a + b) / 2; for "
                "parity, weight the replicas so",
            )
            return


def _are_rows(whole: WholeGraph, weights: Mapping[int, float]) -> bool:
    """Whether an op splits data into as many rows for each tower as its weight says."""
    own = np.array([weights[tower] for tower in whole.towers()])
    for name in whole.minimized_ops("SplitV"):
        sizes, axis = (constant_array(whole.graph, tensor.node) for tensor in whole.graph.inputs(name)[1:3])
        if sizes is None or axis is None or sizes.size != whole.count or np.any(axis) or not sizes.sum():
            continue
        if np.allclose(sizes.ravel() / sizes.sum(), own / own.sum(), rtol=TOLERANCE):
            return True
    return False


def _behind_factors(whole: WholeGraph, gradient: str) -> Iterator[str]:
    """Yields a gradient and what it is a multiple of, such as a mean that is clipped, or 0 where a loss is NaN."""
    todo, seen = [gradient] if gradient else [], set()
    while todo:
        name = todo.pop(0)
        kind, inputs = whole.graph.type(name), [before.node for before in whole.graph.inputs(name)]
        if name not in seen and not is_gradient_op(name):
            seen.add(name)
            yield name
            todo += inputs if kind in op_types.SCALINGS else inputs[:1] if kind in COPIES else []
            todo += inputs[1:] if kind in op_types.CHOICES else []


def _weights_by_tower(whole: WholeGraph, gradient: str) -> Mapping[int, float]:
    """{tower: weight of its gradients in one that is applied}; empty where that is not known."""
    found: dict[int, float] = {}
    for leaf, weight in _leaves(whole, gradient).items():
        if leaf in whole.labels:
            tower = whole.labels[leaf]
            if tower in found and abs(found[tower] - abs(weight)) > TOLERANCE * abs(weight):
                return {}
            found[tower] = abs(weight)
    return found


def clipped_to_one_sign(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds gradients that are clipped to values of one sign; one hazard for all."""
    found = {}
    for apply in whole.applies:
        gradient = applied_gradient(whole, apply)
        for name in linear_weights(whole, gradient) if gradient else {}:
            numbers = [whole.value(tensor.node) for tensor in whole.graph.inputs(name)]
            bounds = [number for number in numbers if number is not None]
            kind = whole.graph.type(name)
            if bounds and not is_gradient_op(name) and (kind, bounds[0] >= 0, bounds[0] <= 0) in _ONE_SIGN:
                found[whole.variable_of(apply) or apply] = (name, bounds[0])
    for name, bound in found.values():
        least = "least" if whole.graph.type(name) == "Maximum" else "largest"
        yield Hazard(
            "GRADIENT_OF_ONE_SIGN",
            name,
            f"gradients of {counted(len(found), 'variable')} ({listed(list(found), FEW)}) are clipped, and "
            f"{bound:g} is the {least} value that {name} leaves: weights change in one direction alone",
            "clip between -c and c; for parity keep the bounds",
        )
        return


def rows_of_one_tower(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds sparse gradients whose values are combined and whose rows are one tower's; one hazard for all."""
    for phase in found.plan.phases if found.plan.towers > 1 else []:
        parts = {entry.weight: [tower for tower, names in enumerate(entry.parts) if names] for entry in phase.combine}
        rows = {weight_of_label(label): towers for label, towers in parts.items() if is_indices_label(label)}
        lone = [name for name, towers in rows.items() if len(towers) == 1 and len(parts.get(name, [])) > 1]
        if lone:
            yield Hazard(
                "ROWS_OF_ONE_TOWER",
                phase.train_op,
                f"the values of {counted(len(lone), 'sparse gradient')} ({listed(lone, FEW)}) are combined over "
                f"the towers, and the rows of tower {rows[lone[0]][0]} are changed: other towers' values reach rows "
                "that they are not of",
                "gather values and rows of all replicas, and divide the values; for parity, change these rows",
            )
            return
