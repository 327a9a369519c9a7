"""Moving averages of the weights: decay, warm-up, and whether the step is counted before it is used."""

from __future__ import annotations

import collections
import dataclasses
from typing import TYPE_CHECKING, Dict, NamedTuple, Optional, Sequence

import numpy as np

from legacy.saved.graph import op_types
from legacy.source.basics.cut import cut_part
from legacy.source.basics.expressions import Call, Definition, Infix, Literal, Name, Value, Variable, call
from legacy.source.basics.forward import Forward
from legacy.source.basics.unwritten import Unwritten
from legacy.source.definitions.input_values import Names
from legacy.source.definitions.recovery import Recovery
from legacy.source.lines.complements import decay_of
from legacy.source.lines.statements import build_statements
from legacy.source.step.schedules import STEP, step_of
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.pieces.piece import Fetch, VariableVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from legacy.source.basics.expressions import Expression
    from workloads.lifted.graph import Graph
    from workloads.lifted.plan import Effect, Phase, Plan

#: Most digits of a decay of the weights' average after the point.
MOST_DIGITS = 7


class Average(NamedTuple):
    """A moving average of the weights.

    Attributes:
      decay: the decay.
      warm_up: whether it is limited by the number of steps.
      counted: whether that number has the current step in it.
    """

    decay: float
    warm_up: bool
    counted: bool


def with_averages_of_statistics(plan: Plan, graph: Graph) -> Plan:
    """Returns the plan in which averages of statistics, as of those of a normalization, belong to what they average."""
    statistics = {
        v.name: v for v in plan.variables if v.role == "statistic" and v.dtype.startswith("float") and v.shape
    }
    effects = [effect for phase in plan.phases for effect in phase.effects]
    changes = collections.Counter(effect.writes[0] for effect in effects)
    data = {parse_tensor_name(tensor).node for entry in plan.inputs + plan.common for tensor in entry.tensors}
    found: Dict[str, str] = {}
    for effect in [one for one in effects if one.writes[0] in statistics and changes[one.writes[0]] == 1]:
        own = statistics[effect.writes[0]]
        before = graph.ancestors([parse_tensor_name(value).node for value in effect.values], controls=False)
        others = [v for v in plan.variables if v.name in before and v.name != own.name and v.shape == own.shape]
        if len(others) == 1 and own.name in before and others[0].name in statistics and not before & data:
            found[own.name] = others[0].name
    found = {name: of for name, of in found.items() if of not in found}
    variables = [
        dataclasses.replace(v, role="average", of=found[v.name]) if v.name in found else v for v in plan.variables
    ]
    return dataclasses.replace(plan, variables=variables)


def find_average(plan: Plan, graph: Graph, phase: Phase, counters: Sequence[str]) -> Optional[Average]:
    """Finds the moving average that a train op keeps of its weights.

    Args:
      plan: of the lift.
      graph: of the lift.
      phase: the train op.
      counters: names of the variables that count steps.

    Returns:
      The average; None if there is none.

    Raises:
      Unwritten: averages of some weights only, of several kinds, in another form, or that losses read.
    """
    averaged = {v.name: v.of for v in plan.variables if v.role == "average"}
    effects = [effect for effect in phase.effects if effect.writes[0] in averaged]
    if not effects:
        return None
    losses = [parse_tensor_name(tensor).node for row in (phase.losses, *phase.other_losses) for tensor in row]
    read = [name for name in averaged if name in graph.ancestors(losses, controls=False)]
    if read:  # those of a workload's field are beside its model
        raise Unwritten(f"moving averages: towers read {read[0]!r}, as a teacher's")
    weights = {v.name for v in plan.variables if v.role == "weight"}
    frozen = [effect.writes[0] for effect in effects if averaged[effect.writes[0]] not in weights]
    if frozen:
        raise Unwritten(
            f"moving averages: {frozen[0]!r} is of a variable that is not trained; a workload's are of weights"
        )
    found = {_average_of(plan, graph, phase, effect, averaged[effect.writes[0]], counters) for effect in effects}
    if len(found) > 1 or {averaged[effect.writes[0]] for effect in effects} != weights or len(effects) != len(weights):
        raise Unwritten("moving averages: not one of each weight, or not all of one kind")
    return found.pop()


def _average_of(
    plan: Plan, graph: Graph, phase: Phase, effect: Effect, weight: str, counters: Sequence[str]
) -> Average:
    strange = Unwritten(f"moving averages: {effect.node!r} ({effect.op}) is no update of an average that is known here")
    if effect.op not in op_types.SUBTRACTS:
        raise strange
    cut = cut_part(plan, graph, [Fetch(effect.values[0], effect.node)], (), phase.versions)
    versions = {f.key.variable: f.key.version for f in cut.piece.feeds if isinstance(f.key, VariableVersion)}
    if not set(versions) <= {effect.writes[0], weight, *counters} or versions.get(weight, 0) < 1:
        raise strange
    replaced = {counter: step_of(plan, counter) for counter in counters}
    recovery = Recovery(Forward(cut, plan), Names({}, {}, set(), {}, replaced))
    fetched = cut.fetches[0] if ":" in cut.fetches[0] else cut.fetches[0] + ":0"
    result = recovery.expression_of(fetched)
    statements = build_statements([*recovery.ordered([result]), Definition((), result)])
    (last,) = statements[-1:]
    definitions = {target: s.expression for s in statements for target in s.targets}
    share = _share(last.expression, definitions)
    if share is None:
        raise strange
    share = definitions.get(getattr(share, "tensor", ""), share)
    step = [versions[counter] for counter in counters if counter in versions]
    return _average(share, definitions, bool(step and step[0])) or _raise(strange)


def _share(expression: Expression, definitions: Mapping[str, Expression]) -> Optional[Expression]:
    """Returns the factor f of `(average - weight) * f`."""
    if not (isinstance(expression, Infix) and expression.symbol == "*"):
        return None
    for gap, share in ((expression.left, expression.right), (expression.right, expression.left)):
        gap = definitions.get(gap.tensor, gap) if isinstance(gap, Value) else gap
        if isinstance(gap, Infix) and gap.symbol == "-" and isinstance(gap.left, Variable):
            return share
    return None


def _average(share: Expression, definitions: dict[str, Expression], counted: bool) -> Optional[Average]:
    if isinstance(share, Literal):
        decay = decay_of(np.float32(share.value), MOST_DIGITS)
        return None if decay is None else Average(decay, False, counted)
    if not (isinstance(share, Infix) and share.symbol == "-" and share.left == Literal(np.float32(1.0))):
        return None
    least = definitions.get(getattr(share.right, "tensor", ""), share.right)
    if not (
        isinstance(least, Call) and least.function == "tf.minimum" and isinstance(least.arguments[0].value, Literal)
    ):
        return None
    ratio = least.arguments[1].value
    updates = call("tf.cast", STEP, Name("tf.float32"))
    for number in (updates, *(d for d in definitions if definitions[d] == updates)):
        node = Value(number) if isinstance(number, str) else number
        one, ten = (Infix("+", Literal(np.float32(n)), node) for n in (1.0, 10.0))
        if ratio == Infix("/", one, ten):
            return Average(float(str(least.arguments[0].value.value)), True, counted)
    return None


def _raise(error: Unwritten) -> Average:
    raise error
