"""Lines of a `cond`: a function for each branch that changes variables, and what they share with the predicate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence, Set, Tuple

from legacy.source.basics.expressions import Definition, Lambda, Literal, Name, call
from legacy.source.lines.identifiers import identifier
from legacy.source.update.changes.per_weight import list_items, take_out_values
from legacy.source.update.changes.wave_lines import common_lines, own_lines, values_lines
from legacy.source.update.changes.waves import effects_of
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.pieces.piece import Fetch
from workloads.lifted.plan import Condition, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from legacy.source.basics.expressions import Expression
    from legacy.source.definitions.recovery import Recovery
    from legacy.source.update.changes.place import Place
    from legacy.source.update.changes.waves import Branches, Step
    from workloads.lifted.plan import Effect


def cond_lines(
    place: Place, branches: Branches, write_steps: Callable[[Place, Sequence[Step]], List[str]]
) -> List[str]:
    """Writes a `cond`.

    Args:
      place: of the lines.
      branches: the branches.
      write_steps: writes the steps of a branch.

    Returns:
      The lines.
    """
    head, inside = _shared_lines(place, branches)
    lines = [*head, *([""] if head else [])]
    functions: List[Expression] = []
    for value, steps in ((True, branches.when_true), (False, branches.when_false)):
        if steps:
            other = effects_of(branches.when_false if value else branches.when_true)
            name = _function_name(place, effects_of(steps), other)
            own = write_steps(inside.inside(Condition(branches.predicate, value)), steps)
            lines += [f"{place.indent}def {name}():", *own, ""]
            functions.append(Name(name))
        else:
            functions.append(Lambda("", Literal(None)))
    recovery, (predicate,) = inside.recovered([branches.predicate])
    list_items(recovery, [[predicate]], place.groups)
    definitions = recovery.ordered([predicate])
    last = Definition((), call("tf.cond", predicate, *functions))
    return lines + own_lines([*definitions, last], place.plan.towers, inside.reserved, len(place.indent))


def _shared_lines(place: Place, branches: Branches) -> Tuple[List[str], Place]:
    """Writes what a predicate and the branches' changes both need, such as a mean gradient that has to be finite.

    Args:
      place: of the lines.
      branches: the branches.

    Returns:
      The lines, and the place after them.
    """
    effects = effects_of([branches])
    fetches = [Fetch(value, effect.node) for effect in effects for value in effect.values]
    taken = list(dict.fromkeys(condition for effect in effects for condition in effect.conditions))
    recovery, (predicate, *values) = place.recovered([branches.predicate, *fetches], taken)
    calls = _by_owner(place, effects, values)
    by_predicate = _targets(recovery, [predicate])
    shared = {t for own in calls.values() for t in _targets(recovery, own) if t in by_predicate}
    shared = {tensor for tensor in shared if parse_tensor_name(tensor).node in place.graph.nodes}
    types = {tensor: type_of(recovery, tensor) for tensor in shared}
    taken_out = take_out_values(recovery, list(calls), list(calls.values()), shared, place.dict_name)
    lines, of_values = values_lines(place, recovery, taken_out)
    found = {value.tensor: recovery.definition(value.tensor) for value in taken_out}
    known = {tensor: (one.expression, types[tensor]) for tensor, one in found.items() if one is not None}
    known.update((tensor, (Name(name), types[tensor])) for tensor, name in of_values.items() if tensor in types)
    inside = place.knowing(known, [*([place.dict_name] if taken_out else []), *of_values.values()])
    every = [[predicate], *calls.values()]
    needed = [[d for d in recovery.ordered(own) if not isinstance(d.expression, Name)] for own in every]
    left = {d.targets[0] for own in needed for d in own} & shared
    common, names = common_lines(inside, recovery, every, needed, left)
    named = {tensor: (Name(name), types[tensor]) for tensor, name in names.items()}
    return lines + common, inside.knowing(named, list(names.values()))


def _by_owner(place: Place, effects: Sequence[Effect], values: Sequence[Expression]) -> Dict[str, List[Expression]]:
    """Returns {variable, or weight of a slot: the arguments of its changes}."""
    owners = {variable.name: variable.of or variable.name for variable in place.plan.variables}
    arguments = iter(values)
    found: Dict[str, List[Expression]] = {}
    for effect in effects:
        owner = owners.get(effect.writes[0], effect.writes[0])
        found.setdefault(owner, []).extend(next(arguments) for _ in effect.values)
    return found


def _targets(recovery: Recovery, expressions: Sequence[Expression]) -> Set[str]:
    """Returns the tensors that some expressions need and that are computed, each alone."""
    needed = [d for d in recovery.ordered(expressions) if len(d.targets) == 1 and not isinstance(d.expression, Name)]
    return {d.targets[0] for d in needed}


def type_of(recovery: Recovery, tensor: str) -> TensorType:
    """Returns the type of a tensor that a recovery computes."""
    (made,) = [one for one in recovery.operation(tensor).outputs if one.name == tensor]
    return TensorType(made.dtype.name, None if made.shape.rank is None else made.shape.as_list())


def _function_name(place: Place, effects: Sequence[Effect], others: Sequence[Effect]) -> str:
    """Returns a name for the function of a branch.

    Args:
      place: of the `cond`; its `functions` get the name.
      effects: changes of the branch.
      others: changes of the other branch.

    Returns:
      The name, which no other function has.
    """
    weights = {variable.name for variable in place.plan.variables if variable.role == "weight"}
    counts = {variable.name for variable in place.plan.variables if "int" in variable.dtype}
    changed = [name for effect in effects for name in effect.writes]
    if weights & set(changed):
        wanted = "apply_gradients"
    elif weights & {name for effect in others for name in effect.writes}:
        wanted = "skip_update"
    else:
        wanted = "update_" + identifier(next((name for name in changed if name not in counts), changed[0]))
    name = next(n for n in [wanted, *(f"{wanted}_{k}" for k in range(2, 99))] if n not in place.functions)
    place.functions.append(name)
    return name
