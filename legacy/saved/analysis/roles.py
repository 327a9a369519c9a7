"""Roles of a step's variables (weight, slot, moving average, statistic, tower's state), from their update ops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from legacy.saved.graph import op_types
from legacy.saved.graph.variables import VariableUses
from workloads.lifted.graph import SWITCHES, Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Effect, Variable
from workloads.lifted.tensors.gradient_names import GRADIENTS as GRADIENT_SCOPE

#: An average is computed from few tensors; an assignment that is computed from more is none.
MOST_TENSORS_OF_AN_AVERAGE = 200


def classify_variables(
    graph: Graph,
    state: VariableUses,
    effects: Sequence[Effect],
    tower_of: Callable[[str], int | None],
    used: set[str],
    sums: Collection[str] = (),
    is_alone: bool = False,
) -> list[Variable]:
    """Gives each variable of a step its role.

    Args:
      graph: the cut graph.
      state: its variables.
      effects: update ops of all train ops.
      tower_of: gives the tower that a node belongs to, or None.
      used: names of the variables that the step reads or changes.
      sums: names of those in which gradients are added up between runs; they are nobody's slots.
      is_alone: whether there is one tower, so that a moving mean that it also reads, as the shift of its moments in
        TensorFlow 0.12, is of all replicas.

    Returns:
      A `plan.Variable` for each used variable, in the order of the graph.
    """
    weights, slots = _weights_and_slots(graph, state, effects, used)
    slots = {slot: weight for slot, weight in slots.items() if slot not in sums}
    averages = _averages(graph, state, effects, weights)
    applies = [effect for effect in effects if effect.node in state.rules]
    ends = {parse_tensor_name(value)[0] for effect in applies for value in effect.values}
    useful = graph.ancestors(ends, stop=set(state.writes), controls=False)
    found = []
    for name in [name for name in state.variables if name in used]:
        role, of, tower = "statistic", "", None
        if name in weights:
            role = "weight"
        elif name in slots:
            role, of = "slot", slots[name]
        elif name in averages:
            role, of = "average", averages[name]
        else:
            is_shared = is_alone and _is_moving_mean(graph, state, name)
            tower = None if is_shared else _owner(graph, state, name, tower_of, useful)
            role = "statistic" if tower is None else "state"
        variable = state.variables[name]
        shape: list[int] = variable.shape  # type: ignore[assignment]  # an open shape is set from the variable's value
        found.append(Variable(name, shape, variable.dtype, role, of, tower, variable.resource))
    return found


def _weights_and_slots(
    graph: Graph, state: VariableUses, effects: Sequence[Effect], used: set[str]
) -> tuple[set[str], dict[str, str]]:
    """(weights, {slot: its weight}): the variables that update rules change.

    An update rule also reads variables that other ops change, such as Adam's powers of beta. They are slots of all
    weights: they belong to "", or to the weight if the step has no other variable. So do the powers by which an Adam of
    rows, which TensorFlow makes of assignments, corrects its moments.
    """
    weights: set[str] = set()
    slots: dict[str, str] = {}
    changed = {variable for effect in effects for variable in effect.writes}
    powers = {effect.writes[0] for effect in effects if _is_power(graph, state, effect)}
    for effect in effects:
        if effect.node not in state.rules:
            continue
        weight = effect.writes[0]
        weights.add(weight)
        slots.update((slot, weight) for slot in effect.writes[1:])
        read = [_variable_behind(graph, state, _before_casts(graph, value)) for value in effect.values]
        for variable in read if op_types.is_apply(effect.op) else []:
            if variable:
                slots.setdefault(variable, weight if len(used) == 1 else "")
        if not op_types.is_apply(effect.op):
            slots.update(_slots_by_hand(graph, state, effect, changed, powers))
    return weights, {slot: weight for slot, weight in slots.items() if slot not in weights}


def _is_power(graph: Graph, state: VariableUses, effect: Effect) -> bool:
    """Whether an update multiplies a number by another one: b^t in each step by b."""
    if effect.op not in op_types.SETS or state.variables[effect.writes[0]].shape != []:
        return False
    value = graph.origin(parse_tensor_name(effect.values[0])).node
    own = [_variable_behind(graph, state, tensor) == effect.writes[0] for tensor in graph.inputs(value)]
    return graph.type(value) == "Mul" and sorted(own) == [False, True]


def _slots_by_hand(
    graph: Graph, state: VariableUses, effect: Effect, changed: set[str], powers: set[str]
) -> dict[str, str]:
    """{slot: weight} of an assignment that trains: variables of its shape that it reads and the step changes.

    So are numbers for each row or column of a matrix, as the factored moments of Adafactor are.

    A gradient is where the search ends: behind it lies the model. Of powers, those that it takes from 1 belong to "".

    Args:
      graph: the cut graph.
      state: its variables.
      effect: the assignment.
      changed: variables that the step changes.
      powers: numbers that it multiplies.
    """
    weight = effect.writes[0]
    found: dict[str, str] = {}
    seen: set[TensorId] = set()
    todo = [parse_tensor_name(value) for value in effect.values]
    while todo:
        tensor = todo.pop()
        variable = _variable_behind(graph, state, tensor)
        is_own = variable in changed and variable != weight
        if variable is not None and is_own and _is_shape_of_slot(state, variable, weight):
            found[variable] = weight
        is_assigned = tensor.node in state.writes  # the value that a slot gets, which may be made of another slot
        if (variable is None or is_assigned) and tensor not in seen and not GRADIENT_SCOPE.search(tensor.node):
            seen.add(tensor)
            todo += graph.inputs(tensor.node)
            subtracted = graph.inputs(tensor.node)[1:] if graph.type(tensor.node) == "Sub" else []
            found.update(
                {name: "" for name in powers for one in subtracted if _variable_behind(graph, state, one) == name}
            )
    return found


def _is_shape_of_slot(state: VariableUses, variable: str, weight: str) -> bool:
    """Whether a variable has a weight's shape, or this shape without one of its dimensions."""
    shape, whole = state.variables[variable].shape, state.variables[weight].shape or ()
    without_one = [[*whole[:axis], *whole[axis + 1 :]] for axis in range(len(whole)) if len(whole) > 1]
    return shape == state.variables[weight].shape or (shape is not None and [*shape] in without_one)


def _before_casts(graph: Graph, name: str) -> TensorId:
    """The tensor that another type of a tensor is made of, as Adam's powers are cast to that of its weights."""
    tensor = parse_tensor_name(name)
    while graph.type(tensor.node) == "Cast":
        tensor = graph.inputs(tensor.node)[0]
    return tensor


def _variable_behind(graph: Graph, state: VariableUses, tensor: TensorId) -> str | None:
    """The variable whose value a tensor is, also where it enters a `cond`; None for any other tensor."""
    while graph.type(tensor[0]) in ("ReadVariableOp", *SWITCHES) and tensor not in state.aliases:
        tensor = graph.inputs(tensor[0])[0]
    return state.aliases.get(tensor)


def _averages(graph: Graph, state: VariableUses, effects: Sequence[Effect], weights: set[str]) -> dict[str, str]:
    """{variable: weight} of moving averages: what is assigned is computed from the variable and one weight like it.

    An average of a weight that is frozen, so that no op changes it, is one too, if it is moved by their difference.
    What is computed from data besides is none, as the moving mean of a fused normalization, whose op takes a weight.
    """
    found = {}
    changed = {variable for effect in effects for variable in effect.writes}
    for effect in effects:
        average = effect.writes[0]
        if effect.node in state.rules or len(effect.writes) != 1 or average in weights or "Assign" not in effect.op:
            continue
        owners = _variables_behind(graph, state, [parse_tensor_name(value) for value in effect.values])
        sources = [owner for owner in owners if owner in weights]
        moved = len(sources) == 1 and average in owners
        is_like_it = moved and state.variables[sources[0]].shape == state.variables[average].shape
        if is_like_it and not _takes_data(graph, state, effect):
            found[average] = sources[0]
        still = [name for name in owners if name not in changed]
        frozen = [name for name in still if _is_moved_towards(graph, state, effect, name, owners)]
        if not sources and len(frozen) == 1:
            found[average] = frozen[0]
    return found


def _takes_data(graph: Graph, state: VariableUses, effect: Effect) -> bool:
    """Whether an assignment's values are computed from data or random numbers; a fed number, as of a decay, is none."""
    ends = [parse_tensor_name(value).node for value in effect.values]
    behind = graph.ancestors(ends, stop={*state.variables, *state.writes}, controls=False)
    shapes = [graph.nodes[name].attr["shape"].shape for name in behind if op_types.is_source(graph.type(name))]
    return any(shape.dim for shape in shapes) or any(op_types.is_random(graph.type(name)) for name in behind)


def _is_moved_towards(graph: Graph, state: VariableUses, effect: Effect, source: str, owners: set[str]) -> bool:
    """Whether an assignment has the difference of its variable and `source`, and else only numbers, as of a decay."""
    average = effect.writes[0]
    shapes = {name: state.variables[name].shape for name in {average, *owners}}
    if shapes[average] != shapes[source] or any(shapes[name] for name in owners - {average, source}):
        return False
    behind = graph.ancestors([parse_tensor_name(value).node for value in effect.values], controls=False)
    gaps = [graph.inputs(node) for node in behind if graph.type(node) == "Sub"]
    return {average, source} in [{_variable_behind(graph, state, tensor) for tensor in gap} for gap in gaps]


def _variables_behind(graph: Graph, state: VariableUses, tensors: Iterable[TensorId]) -> set[str]:
    """The variables that some tensors are computed from; empty if they are computed from very many tensors."""
    seen: set[TensorId] = set()
    found: set[str] = set()
    todo = list(tensors)
    while todo:
        tensor = todo.pop()
        if tensor in state.aliases:
            found.add(state.aliases[tensor])
        elif tensor not in seen:
            seen.add(tensor)
            if len(seen) > MOST_TENSORS_OF_AN_AVERAGE:
                return set()
            todo += graph.inputs(tensor[0])
    return found


def _is_moving_mean(graph: Graph, state: VariableUses, name: str) -> bool:
    """Whether each change subtracts from a variable a share of its difference to another value."""
    changes = [effect for effect, writes in state.writes.items() if name in writes]
    for effect in changes:
        share = graph.origin(graph.inputs(effect)[1]).node if graph.type(effect) in op_types.SUBTRACTS else ""
        gaps = [graph.origin(one).node for one in graph.inputs(share)] if share and graph.type(share) == "Mul" else []
        starts = [graph.inputs(gap)[0] for gap in gaps if graph.type(gap) == "Sub"]
        if name not in [_variable_behind(graph, state, start) for start in starts]:
            return False
    return bool(changes)


def _owner(
    graph: Graph, state: VariableUses, name: str, tower_of: Callable[[str], int | None], useful: set[str]
) -> int | None:
    """The one tower that computes with a variable and assigns it, as with a recurrent state; None if there is none.

    A moving mean has no owner: its own update op reads it, and no tower's gradient depends on it.
    """
    effects = [effect for effect, writes in state.writes.items() if name in writes]
    if not effects or set(effects) & state.rules:
        return None
    readers = [node for node, read in state.reads.items() if name in read]
    if not set(readers) & useful:
        return None
    makers = {tower_of(producer) for effect in effects for producer, _ in graph.inputs(effect)} - {None}
    towers = _towers_using(graph, readers, useful, tower_of) | makers
    return next(iter(towers)) if len(towers) == 1 and makers else None


def _towers_using(
    graph: Graph, readers: list[str], useful: set[str], tower_of: Callable[[str], int | None]
) -> set[int | None]:
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
