"""Values of scalar inputs that an old program fed at every step, such as a learning rate or `keep_prob`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Dict, List, Set

from workloads.lifted.graph import parse_tensor_name
from workloads.support.errors import require

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Input, Plan

#: (part of an input's name, value that such a scalar usually has).
USUAL = (("keep", 0.5), ("drop", 0.5), ("rate", 0.01), ("lr", 0.01))
#: Value of a learning rate whose name does not tell that it is one.
USUAL_LEARNING_RATE = 0.001
#: Value of a scalar that the graph takes one minus of: none would be kept with a share of one, and none dropped with 0.
USUAL_SHARE = 0.5


def usual_setting(plan: Plan, name: str) -> float:
    """Returns the value that is assumed for a scalar input where none is given: as recorded, or by name or use.

    Args:
      plan: of the lift.
      name: of the scalar input.
    """
    recorded = next((entry.recorded for entry in scalar_inputs(plan) if entry.name == name and entry.recorded), "")
    if recorded:
        return float(recorded)
    if name in fed_learning_rates(plan):
        return usual_value(name, USUAL_LEARNING_RATE)
    is_share = any(entry.name == name and entry.is_share for entry in scalar_inputs(plan))
    return usual_value(name, USUAL_SHARE if is_share else 1.0)


def fed_learning_rates(plan: Plan, graph: Graph | None = None) -> Set[str]:
    """Returns the inputs that an optimizer takes as its learning rate, whatever their names.

    Args:
      plan: of the lift.
      graph: of the lift; where it was rewritten to float64, a cast stands between an input and its optimizer.
    """
    rates = {effect.learning_rate for phase in plan.phases for effect in phase.effects if effect.learning_rate}
    if graph is not None:
        rates |= {_before_cast(graph, rate) for rate in rates}
    return {entry.name for entry in plan.inputs + plan.common if rates.intersection(entry.tensors)}


def _before_cast(graph: Graph, tensor: str) -> str:
    """Returns the tensor that a cast is given; another tensor as it is."""
    node = parse_tensor_name(tensor).node
    return graph.inputs(node)[0].name if graph.type(node) == "Cast" else tensor


def usual_value(name: str, otherwise: float = 1.0) -> float:
    """Returns the value that a scalar input of this name mostly has; `otherwise` if its name does not tell.

    >>> usual_value("tower/keep_prob"), usual_value("dropout_rate"), usual_value("learning_rate")
    (0.5, 0.5, 0.01)
    >>> usual_value("is_training")
    1.0
    """
    return next((value for part, value in USUAL if part in name.lower()), otherwise)


def is_number(text: str) -> bool:
    """Returns whether a text is that of a number.

    >>> is_number("0.5"), is_number("half")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def scalar_inputs(plan: Plan) -> List[Input]:
    """Returns the inputs that are scalars."""
    return [entry for entry in plan.inputs + plan.common if entry.kind == "setting"]


def keep_settings(plan: Plan, settings: Mapping[str, str]) -> None:
    """Enters the values of scalar inputs into a plan, for commands that are given none.

    Args:
      plan: of the lift; it is changed.
      settings: {scalar input: text of its value}.

    Raises:
      InputError: the graph has no such scalar input.
    """
    scalars = {entry.name: entry for entry in scalar_inputs(plan)}
    for name, text in settings.items():
        require(name in scalars, "--settings", name, "scalar inputs of the graph: " + (", ".join(scalars) or "none"))
        scalars[name].value = text


def kept_settings(plan: Plan) -> Dict[str, str]:
    """Returns {scalar input: text of its value} of those that the lift was given a value for."""
    return {entry.name: entry.value for entry in scalar_inputs(plan) if entry.value}


def assumed_settings(plan: Plan, settings: Mapping[str, object]) -> Dict[str, float]:
    """Returns {scalar input: usual value} of those that `settings` have no value for."""
    names = [entry.name for entry in scalar_inputs(plan)]
    return {name: usual_setting(plan, name) for name in names if name not in settings}
