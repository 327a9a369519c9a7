"""Order in which a written loss asks for its weights: a norm over all gradients adds them in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Optional, Sequence

from legacy.source.basics.unwritten import Unwritten
from legacy.source.lines.early_reads import asked_for, early_reads, with_early_lines

if TYPE_CHECKING:
    from legacy.source.step.model import Model
    from workloads.lifted.plan import Phase, Plan
    from workloads.numerics.clip_rule import Clip


def clipped_weights(plan: Plan, phase: Phase) -> List[str]:
    """Returns the weights that a train op has gradients of, in the order in which its norm adds these."""
    given = given_gradients(plan, phase)
    return [v.name for v in plan.variables if v.role == "weight" and v.name in given]


def given_gradients(plan: Plan, phase: Phase) -> Dict[str, str]:
    """Returns {weight: tensor of the first tower's gradient}, also of those that a variable keeps for another run.

    Args:
      plan: of the lift, with the weights that variables belong to.
      phase: the train op.

    Returns:
      The gradients; where a weight takes one, and a sum another one, that of the weight.
    """
    owners = {variable.name: variable.of for variable in plan.variables}
    given = phase.gradients[0]
    return {**{owners[name]: one for name, one in given.items() if owners.get(name)}, **given}


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
    found = asked_for(model.statements)
    if set(found) != set(weights):
        return model
    statements = with_early_lines(model.statements, early_reads(model.statements, weights), found)
    return model._replace(statements=statements, others=[in_clipped_order(one, weights, rule) for one in model.others])


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
