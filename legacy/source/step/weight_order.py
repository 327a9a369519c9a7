"""Order in which a written loss asks for its weights: a norm over all gradients adds them in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Sequence

from legacy.source.basics.expressions import Value, Variable, leaves, replace
from legacy.source.basics.unwritten import Unwritten
from legacy.source.lines.statements import Statement

if TYPE_CHECKING:
    from legacy.source.basics.expressions import Expression
    from legacy.source.step.model import Model
    from workloads.lifted.plan import Phase, Plan
    from workloads.numerics.clip_rule import Clip


def clipped_weights(plan: Plan, phase: Phase) -> List[str]:
    """Returns the weights that a train op has gradients of, in the order in which its norm adds these."""
    return [v.name for v in plan.variables if v.role == "weight" and v.name in phase.gradients[0]]


def in_clipped_order(model: Model, weights: Sequence[str], rule: Optional[Clip]) -> Model:
    """Returns a model that asks for its weights in the order in which a rule adds their gradients.

    Weights stand in the order in which the loss first asks for them. One that the loss would ask for behind a weight
    that comes after it in the old graph gets a line of its own before that one.

    Args:
      model: of the loss.
      weights: in the order of the old graph; see `clipped_weights`.
      rule: how gradients are clipped.

    Returns:
      The model; unchanged if no norm of all gradients is taken, or if a loop asks for weights (`require_clipped_order`
      refuses it then if the order is another one).
    """
    if rule is None or rule.how != "global_norm":
        return model
    found = _asked_for(model.statements)
    if set(found) != set(weights):
        return model
    statements = _with_early_lines(model.statements, _early(model.statements, weights), found)
    return model._replace(statements=statements, others=[in_clipped_order(one, weights, rule) for one in model.others])


def _early(statements: Sequence[Statement], weights: Sequence[str]) -> Dict[int, List[str]]:
    """Returns {number of a statement: weights that must have a line before it}, as few as are needed."""
    left, early = list(weights), {}
    for number, statement in enumerate(statements):
        own = [name for name in _asked_for([statement]) if name in left]
        due = left[: max((left.index(name) + 1 for name in own), default=0)]
        count = next(n for n in range(len(due) + 1) if [name for name in own if name not in due[:n]] == due[n:])
        early[number] = due[:count]
        left = left[len(due) :]
    return early


def require_clipped_order(rule: Optional[Clip], weights: Sequence[str], asked: Sequence[str]) -> None:
    """Checks the order in which a written loss has asked for its weights.

    Args:
      rule: how gradients are clipped.
      weights: in the order in which the old graph's norm adds their gradients.
      asked: variables that can be trained, in the order in which the loss has asked for them.

    Raises:
      Unwritten: a norm of all gradients would be added in another order, and differ in its last bits.
    """
    if rule is None or rule.how != "global_norm":
        return
    for name, other in zip(weights, [one for one in asked if one in weights]):
        if name != other:
            text = f"the global norm adds the gradient of {name!r} before that of {other!r}"
            raise Unwritten(f"clipping: {text}, and the loss asks for them in another order")


def _asked_for(statements: Sequence[Statement]) -> Dict[str, Variable]:
    """Returns {name: variable} of the weights in some statements, in the order in which they stand there."""
    found: Dict[str, Variable] = {}
    for statement in statements:
        for leaf in leaves(statement.expression):
            if isinstance(leaf, Variable) and isinstance(leaf.name, str) and leaf.trainable is True:
                found.setdefault(leaf.name, leaf)
    return found


def _with_early_lines(
    statements: Sequence[Statement], early: Dict[int, List[str]], variables: Dict[str, Variable]
) -> List[Statement]:
    """Returns statements with a line for each early weight, whose value the others use."""
    moved = {name for names in early.values() for name in names}
    lines = {s.expression.name: s for s in statements if isinstance(s.expression, Variable) and len(s.targets) == 1}
    targets = {name: lines[name].targets[0] if name in lines else "!" + name for name in moved}

    def given(part: Expression) -> Expression | None:
        return Value(targets[part.name]) if isinstance(part, Variable) and part.name in targets else None

    result: List[Statement] = []
    for number, statement in enumerate(statements):
        result += [Statement((targets[name],), variables[name]) for name in early[number]]
        if not any(statement is lines.get(name) for name in moved):
            result.append(statement._replace(expression=replace(statement.expression, given)))
    return result
