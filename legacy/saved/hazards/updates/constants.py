"""Hazards of an optimizer's constants: exchanged arguments, and a learning rate that grows without a bound."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import applied_rate, minimized_targets
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph.old_ops import registered_op

#: The largest beta1 that is taken for an epsilon, the largest momentum and the least rate for each other.
MOST_EPSILON, MOST_MOMENTUM, LEAST_RATE = 1e-3, 0.1, 0.5
#: The least beta1, and the largest beta2 beside it, that are taken for each other.
LEAST_BETA1, MOST_BETA2 = 0.99, 0.95


def exchanged_constants(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a beta1 or decay that is an epsilon, and constants that are exchanged; one hazard for all.

    Exchanged are a momentum and a learning rate, or Adam's decays: then the mean of the gradients goes back further
    than that of their squares.
    """
    for apply in [name for name in whole.applies if name in whole.members]:
        found = _constants(whole, apply)
        beta1, beta2, rate = (found.get(key) for key in ("beta1", "beta2", "lr"))
        momentum, decay = found.get("momentum"), found.get("rho") if _is_rmsprop(whole, apply) else None
        if beta1 is not None and 0 < beta1 < MOST_EPSILON:
            text = f"beta1 of {apply} is {beta1:.4g}, the size of an epsilon: there is no momentum"
            advice = "1.x's AdamOptimizer takes learning rate, beta1, beta2 and epsilon in this order"
        elif beta1 is not None and beta2 is not None and LEAST_BETA1 <= beta1 < 1 and 0 < beta2 <= MOST_BETA2:
            text = f"{apply} has a beta1 of {beta1:.4g} and a beta2 of {beta2:.4g}: are they exchanged?"
            advice = "1.x's AdamOptimizer takes learning rate, beta1, beta2 and epsilon in this order"
        elif decay is not None and 0 < decay < MOST_EPSILON:
            text = f"the decay of {apply} is {decay:.4g}, the size of an epsilon: no mean of squares goes back a step"
            advice = "1.x's RMSPropOptimizer takes learning rate, decay, momentum and epsilon in this order"
        elif momentum is not None and rate is not None and 0 < momentum < MOST_MOMENTUM and LEAST_RATE <= rate < 1:
            text = f"{apply} has a learning rate of {rate:.4g} and a momentum of {momentum:.4g}: are they exchanged?"
            advice = "MomentumOptimizer takes the learning rate first"
        else:
            continue
        yield Hazard("CONSTANTS_EXCHANGED", apply, text, f"{advice}; for parity keep the values")
        return


def _is_rmsprop(whole: WholeGraph, apply: str) -> bool:
    return "RMSProp" in whole.graph.type(apply)


def _constants(whole: WholeGraph, apply: str) -> dict[str, float]:
    """{argument of an update op: its number} of those that are constants."""
    definition = registered_op(whole.graph.type(apply))
    arguments = [argument.name for argument in definition.input_arg] if definition is not None else []
    values = {name: whole.value(tensor.node) for name, tensor in zip(arguments, whole.graph.inputs(apply))}
    return {name: value for name, value in values.items() if value is not None}


def momenta_of_zero(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds an update by momentum whose momentum is 0, or 1 and more, which never forgets; one hazard for all."""
    for apply in [name for name in whole.applies if name in whole.members]:
        momentum = _constants(whole, apply).get("momentum", 0.5)
        if momentum >= 1 and ("ApplyMomentum" in whole.graph.type(apply) or _is_rmsprop(whole, apply)):
            yield Hazard(
                "MOMENTUM_NOT_BELOW_ONE",
                apply,
                f"the momentum of {apply} is {momentum:g}: no gradient of an earlier step ever counts less, so that "
                "the step grows where gradients agree, and weights go round where they do not",
                "a momentum below 1, such as 0.9; for parity keep it",
            )
            return
        if "ApplyMomentum" in whole.graph.type(apply) and momentum == 0:
            yield Hazard(
                "MOMENTUM_ZERO",
                apply,
                f"the momentum of {apply} is 0: it is gradient descent, with a slot that holds the last gradient",
                "the momentum that was meant, such as 0.9; for parity keep it",
            )
            return


def negative_learning_rates(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds learning rates below 0 of gradients that are followed down otherwise; one hazard for all."""
    for apply in [name for name in whole.applies if name in whole.members]:
        found = _constants(whole, apply)
        rate = found.get("lr", found.get("alpha"))
        if rate is not None and rate < 0 and len(minimized_targets(whole)) == len(whole.targets):
            yield Hazard(
                "LEARNING_RATE_NEGATIVE",
                apply,
                f"the learning rate of {apply} is {rate:g}: the step goes against its sense, and the loss rises",
                "a positive rate, or a loss with the other sign; for parity keep it",
            )
            return


def growing_learning_rates(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds learning rates that are a multiple of a step counter, without any bound; one hazard for all."""
    counters = {variable for name, variable in whole.writes.items() if whole.graph.type(name) in op_types.ADDS}
    for apply in [name for name in whole.applies if name in whole.members]:
        taken = applied_rate(whole, apply)
        rate = taken.node if taken is not None else rate_by_hand(whole, apply)
        if rate:
            weights = linear_weights(whole, rate)
            rising = {node: weight for node, weight in weights.items() if weight > 0}
            steps = {whole.writes.get(n, variable_read(whole.graph, n)): weight for n, weight in rising.items()}
            power = next((node for node in weights if _is_growing_power(whole, node, counters)), None)
            if power is not None and weights[power] > 0:
                yield Hazard(
                    "LEARNING_RATE_GROWS",
                    rate,
                    f"the learning rate {rate} is a multiple of {power}, the power of a number above 1 that rises with "
                    "the steps, without a bound",
                    "a decay below 1; for parity keep it",
                )
                return
            step = next((name for name in sorted(counters) if name in steps), None)
            if step is not None:
                yield Hazard(
                    "LEARNING_RATE_GROWS",
                    rate,
                    f"the learning rate {rate} rises by {steps[step]:.4g} with each step of {step}, and nothing "
                    "bounds the warmup",
                    "tf.minimum of the rate and its final value; for parity leave it out",
                )
                return


def rate_by_hand(whole: WholeGraph, apply: str) -> str:
    """Returns the factor of a step that is subtracted by hand, of no data and no weights; "" if there is none."""
    graph = whole.graph
    todo = _subtracted(whole, apply)
    while todo:
        name = todo.pop()
        if name not in made_by_weights(whole) and name not in whole.data:
            if whole.value(name) is None:
                return name
        elif graph.type(name) == "Mul":
            todo += [tensor.node for tensor in graph.inputs(name)]
        elif graph.type(name) in op_types.QUOTIENTS:
            todo.append(graph.inputs(name)[0].node)
    return ""


def _subtracted(whole: WholeGraph, apply: str) -> list[str]:
    """The node that an update by hand subtracts from its variable, as AssignSub or as Assign of a difference; or []."""
    graph, kind = whole.graph, whole.graph.type(apply)
    if kind in op_types.SUBTRACTS:
        return [graph.inputs(apply)[1].node]
    value = graph.inputs(apply)[1].node if kind in op_types.SETS else ""
    if not value or graph.type(value) != "Sub":
        return []
    weight, step = (tensor.node for tensor in graph.inputs(value))
    return [step] if variable_read(graph, weight) == whole.writes.get(apply) else []


def _is_growing_power(whole: WholeGraph, name: str, counters: Collection[str]) -> bool:
    """Whether a node is the power of a constant above 1 by a multiple of a counter, perhaps rounded down."""
    graph = whole.graph
    if graph.type(name) != "Pow":
        return False
    base, exponent = (tensor.node for tensor in graph.inputs(name))
    while graph.type(exponent) in ("Floor", "Identity", "Cast"):
        exponent = graph.inputs(exponent)[0].node
    number = whole.value(base)
    if number is None or number <= 1:
        return False
    weights = linear_weights(whole, exponent)
    return any(weight > 0 and variable_read(graph, node) in counters for node, weight in weights.items())
