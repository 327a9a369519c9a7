"""Updates of statistics as lines of the model: calls of `scope.update` with the statistic's new value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Sequence

from legacy.saved.graph import op_types
from legacy.source.basics.expressions import (
    Call,
    Definition,
    Expression,
    Infix,
    Lambda,
    Value,
    Variable,
    call,
    leaves,
    replace,
)
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.alignment import by_replica
from legacy.source.step.statistics import EACH_TOWER, Proposal, Statistics
from legacy.source.step.towers import NOW
from workloads.numerics.statistics import TOWERS_IN_TURN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.definitions.recovery import Recovery
    from workloads.lifted.plan import Plan

#: {op that changes rows of a variable, without Resource: function that returns a tensor with such rows}.
_SCATTERS = {
    "ScatterAdd": "tf.tensor_scatter_nd_add",
    "ScatterSub": "tf.tensor_scatter_nd_sub",
    "ScatterUpdate": "tf.tensor_scatter_nd_update",
}


def update_lines(
    statistics: Statistics,
    updates: Sequence[Expression],
    recovery: Recovery,
    plan: Plan,
    changed: Mapping[str, Expression],
) -> List[List[Expression]]:
    """Returns the lines of each update.

    Args:
      statistics: the towers' changes of statistics.
      updates: the new values, then the rows of those that change rows.
      recovery: that they are from.
      plan: of the lift.
      changed: {statistic: expression of its value after other towers changed it}.

    Returns:
      Lines of each; what asks for a statistic stands there once.

    Raises:
      Unwritten: an op changes a statistic in another way.
    """
    together = _changed_together(statistics)
    rows = iter(updates[len(together) :])
    names = [proposals[0].variable for proposals in together]
    lines = []
    for place, (proposals, value) in enumerate(zip(together, updates)):
        if changed and statistics.policy != TOWERS_IN_TURN and names[place] not in names[:place]:
            value = _of_now(value, names[place], recovery)  # one tower changes it, for the first time
        lines.append(_update(proposals, value, next(rows) if proposals[0].rows else None, recovery, plan, changed))
    return _asked_for_once(lines)


def _of_now(value: Expression, name: str, recovery: Recovery) -> Expression:
    """Returns a value in which the parameter of a function stands for a statistic that nothing has changed before."""

    def opened(part: Expression) -> Expression | None:
        definition = recovery.definition(part.tensor) if isinstance(part, Value) else None
        if definition is None or len(definition.targets) > 1:
            return None
        if isinstance(definition.expression, Variable):
            return NOW if definition.expression.name == name else None
        inside = replace(definition.expression, opened)
        return inside if NOW in leaves(inside) else None

    return replace(value, opened)


def with_updates(recovery: Recovery, loss: Expression, updates: Sequence[Sequence[Expression]]) -> List[Definition]:
    """Returns the loss's definitions, with each update as early as what it needs is there, and the loss at the end.

    Args:
      recovery: that they are from.
      loss: the result.
      updates: the lines of each update.

    Returns:
      The definitions.
    """
    items = recovery.ordered([loss])
    for lines in updates:
        needed = recovery.ordered(lines)
        own = {_updated(line) for line in lines} - {None}
        before = [n + 1 for n, item in enumerate(items) if not item.targets and _updated(item.expression) in own]
        place = max([*before, *(items.index(item) + 1 for item in needed if item in items)], default=0)
        while place < len(items) and not items[place].targets:
            place += 1
        new = [item for item in needed if item not in items]
        items[place:place] = new + [Definition((), line) for line in lines]
    return [*items, Definition((), loss)]


def _changed_together(statistics: Statistics) -> List[List[Proposal]]:
    """Returns the changes that one line of the text makes: of each tower's own state, one change of each tower."""
    if statistics.policy == EACH_TOWER:
        return [list(row) for row in zip(*statistics.proposals)]
    return [[proposal] for proposal in statistics.proposals[statistics.tower]]


def _asked_for_once(updates: Sequence[List[Expression]]) -> List[List[Expression]]:
    """Returns the lines of updates without those that ask for a statistic again."""
    asked = [lines[:-1] for lines in updates]
    return [lines[-1:] if lines[:-1] in asked[:place] else lines for place, lines in enumerate(updates)]


def _updated(line: Expression) -> Expression | None:
    """Returns the name of the statistic that a line updates; None of another line."""
    return line.arguments[0].value if isinstance(line, Call) and line.function == "scope.update" else None


def _update(
    proposals: Sequence[Proposal],
    value: Expression,
    rows: Expression | None,
    recovery: Recovery,
    plan: Plan,
    changed: Mapping[str, Expression],
) -> List[Expression]:
    """Returns the call that proposes a statistic's new value; where others changed it, as a function of what they left.

    A function changes what was asked for before, on a line of its own.
    """
    proposal = proposals[0]
    if len(proposals) > 1:
        return [call("scope.update", by_replica([one.variable for one in proposals]), value)]
    name = proposal.variable
    old = changed[name] if changed else _read_by(value, name, recovery) or _statistic(name, recovery, plan)
    if rows is not None:
        value = call(_scatter(proposal), old, call("tf.expand_dims", rows, -1), value)
    elif proposal.op in op_types.SUBTRACTS:
        value = Infix("-", old, value)
    elif proposal.op in op_types.ADDS:
        value = Infix("+", old, value)
    elif proposal.op not in op_types.SETS:
        raise Unwritten(f"statistics: {name!r} is changed by {proposal.op}")
    if changed:
        function = Lambda(NOW.text, _inlined(value, recovery))
        return [_statistic(name, recovery, plan), call("scope.update", name, function)]
    return [call("scope.update", name, value)]


def _scatter(proposal: Proposal) -> str:
    """Returns the function that changes rows of a tensor as an op does those of a variable."""
    kind = proposal.op.replace("Resource", "")
    if kind not in _SCATTERS:
        raise Unwritten(f"statistics: rows of {proposal.variable!r} are changed by {proposal.op}")
    return _SCATTERS[kind]


def _statistic(name: str, recovery: Recovery, plan: Plan) -> Expression:
    """Returns the value of a statistic before the step."""
    return recovery.variable(name, next(tuple(v.shape) for v in plan.variables if v.name == name))


def _read_by(value: Expression, name: str, recovery: Recovery) -> Expression | None:
    """Returns the value of a statistic that its new value is made of, as the last tower's are; None if it is not."""
    for definition in recovery.ordered([value]):
        read = definition.expression
        if isinstance(read, Variable) and read.name == name and len(definition.targets) == 1:
            return Value(definition.targets[0])
    return None


def _inlined(expression: Expression, recovery: Recovery) -> Expression:
    """Returns an expression with the definitions of what depends on the parameter of a function in their places."""
    known: Dict[str, Expression | None] = {}  # each tensor of a network is on many paths

    def opened(part: Expression) -> Expression | None:
        if not isinstance(part, Value):
            return None
        if part.tensor not in known:
            definition = recovery.definition(part.tensor)
            whole = definition is not None and len(definition.targets) <= 1
            inside = replace(definition.expression, opened) if definition is not None and whole else None
            known[part.tensor] = inside if inside is not None and NOW in leaves(inside) else None
        return known[part.tensor]

    return replace(expression, opened)
