"""What each variable is for, from the ops that change it."""

from __future__ import annotations

from legacy.saved.graph import op_types
from workloads.lifted.graph import SWITCHES, split, tensor_name
from workloads.lifted.plan import Effect, Variable
from workloads.support.errors import InputError

RATES = ("lr", "alpha")
GRADIENTS = ("grad", "delta", "updates")


def effects(graph, imported, state, order):
    """[`Effect`] of an `ordering.Order`.

    Raises:
      InputError: a variable is changed inside a loop, or inside a `cond` in a `cond`.
    """
    frames, branches = graph.frames(), graph.branches()
    for name in order.effects:
        if name in frames:
            raise InputError(f"graph file: {name!r} changes variables inside a while loop, which is not lifted")
    return [_effect(graph, imported, state, name, branches) for name in order.effects]


def _effect(graph, imported, state, name, branches):
    writes, kind = state.writes[name], graph.type(name)
    condition = _condition(graph, name, branches) if name in branches else None
    arguments = [argument.name for argument in imported.definition(name).input_arg][len(writes) :]
    inputs = graph.inputs(name)[len(writes) :]
    applies = op_types.is_apply(kind)
    gradient = _place(arguments, GRADIENTS) if applies or op_types.is_sparse(kind) else -1
    rate = _place(arguments, RATES) if applies else -1
    return Effect(
        node=name,
        op=kind,
        writes=writes,
        values=[tensor_name(*tensor) for tensor in inputs],
        gradient=_outside(graph, inputs[gradient], branches, condition) if gradient >= 0 else None,
        rate=_outside(graph, inputs[rate], branches, condition) if rate >= 0 else None,
        gradient_at=gradient,
        rate_at=rate,
        condition=condition,
    )


def _place(arguments, names):
    return next((i for i, argument in enumerate(arguments) if argument in names), -1)


def _condition(graph, name, branches):
    """[predicate, branch] of the one `cond` that an effect is in."""
    found, seen, todo = set(), {name}, [name]
    while todo:
        node = todo.pop()
        for before, output in graph.inputs(node) + [(control, 0) for control in graph.controls(node)]:
            if graph.type(before) in SWITCHES:
                data, predicate = graph.inputs(before)
                predicate = graph.origin(predicate)
                nested = data[0] in branches or predicate[0] in branches
                found.add((tensor_name(*predicate), None if nested else bool(output)))
            elif before in branches and before not in seen:
                seen.add(before)
                todo.append(before)
    conditions = {(predicate, branch) for predicate, branch in found}
    if len(conditions) != 1 or next(iter(conditions))[1] is None:
        raise InputError(f"graph file: {name!r} changes variables inside nested conditions, which is not lifted")
    return list(conditions.pop())


def _outside(graph, tensor, branches, condition):
    """A tensor's name, as it is before it enters the `cond`; None if it is made inside, where nobody can see it."""
    while condition is not None and graph.type(tensor[0]) in SWITCHES:
        tensor = graph.inputs(tensor[0])[0]
    return None if tensor[0] in branches else tensor_name(*tensor)


def variables(graph, state, phase_effects, tower_of, used):
    """[`Variable`] of all that a step reads or changes.

    Args:
      phase_effects: `Effect`s of all phases.
      tower_of: function from a node to its tower or None.
      used: set of variables' names.
    """
    weights, slots = {}, {}
    for effect in phase_effects:
        if effect.node in state.rules or op_types.is_sparse(effect.op):
            weights[effect.writes[0]] = ""
            slots.update((slot, effect.writes[0]) for slot in effect.writes[1:])
            if op_types.is_apply(effect.op):
                for value in effect.values:  # powers of beta: a variable that rules read and somebody else multiplies
                    owner = _variable_behind(graph, state, split(value))
                    if owner:
                        slots.setdefault(owner, effect.writes[0] if len(used) == 1 else "")
    averages = _averages(graph, state, phase_effects, weights)
    applies = [effect for effect in phase_effects if effect.node in state.rules]
    ends = {split(value)[0] for effect in applies for value in effect.values}
    useful = graph.ancestors(ends, stop=set(state.writes), controls=False)
    found = []
    for name in state.variables:
        if name not in used:
            continue
        variable = state.variables[name]
        role, of, tower = "statistic", "", _owner(graph, state, name, tower_of, useful)
        if name in weights:
            role = "weight"
        elif name in slots:
            role, of = "slot", slots[name]
        elif name in averages:
            role, of = "average", averages[name]
        elif tower is not None:
            role = "state"
        found.append(
            Variable(
                name, variable.shape, variable.dtype, role, of, tower if role == "state" else None, variable.resource
            )
        )
    return found


def _variable_behind(graph, state, tensor):
    """The variable whose value a tensor is, or None."""
    if graph.type(tensor[0]) == "ReadVariableOp":
        tensor = graph.inputs(tensor[0])[0]
    return state.aliases.get(tensor)


def _averages(graph, state, phase_effects, weights):
    """{variable: weight} of variables that are moved towards a weight, and by nothing else."""
    found = {}
    for effect in phase_effects:
        if effect.node in state.rules or len(effect.writes) != 1 or effect.writes[0] in weights:
            continue
        if "Assign" not in effect.op:
            continue
        owners = {state.aliases[p] for p in _leaves(graph, state, [split(value) for value in effect.values])}
        sources = [owner for owner in owners if owner in weights]
        moved = len(sources) == 1 and effect.writes[0] in owners
        if moved and state.variables[sources[0]].shape == state.variables[effect.writes[0]].shape:
            found[effect.writes[0]] = sources[0]
    return found


def _leaves(graph, state, tensors, most=200):
    """Aliases that some tensors are made from; nothing if they are made from much."""
    seen, todo, found = set(), list(tensors), []
    while todo:
        tensor = todo.pop()
        if tensor in state.aliases:
            found.append(tensor)
        elif tensor not in seen:
            seen.add(tensor)
            if len(seen) > most:
                return []
            todo += graph.inputs(tensor[0])
    return found


def _owner(graph, state, name, tower_of, useful):
    """The one tower that computes with a variable and assigns it: a recurrent state; None if there is no such one.

    A moving mean is read by its own update only, and by no tower's way to its gradients.
    """
    changes = [effect for effect, writes in state.writes.items() if name in writes]
    if not changes or set(changes) & state.rules:
        return None
    readers = [node for node, read in state.reads.items() if name in read]
    if not set(readers) & useful:
        return None
    makers = {tower_of(producer) for effect in changes for producer, _ in graph.inputs(effect)} - {None}
    towers = _towers_using(graph, readers, useful, tower_of) | makers
    return next(iter(towers)) if len(towers) == 1 and makers else None


def _towers_using(graph, readers, useful, tower_of):
    """Towers that get a variable's value, directly or by way of nodes that belong to none."""
    seen, todo, towers = set(readers), list(readers), set()
    while todo:
        node = todo.pop()
        if tower_of(node) is not None:
            towers.add(tower_of(node))
            continue
        for user, _, _ in graph.users(node):
            if user in useful and user not in seen:
                seen.add(user)
                todo.append(user)
    return towers
