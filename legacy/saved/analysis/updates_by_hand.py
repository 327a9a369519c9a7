"""Updates written with plain assignments: what a counter rises by, and the learning rate of an optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from legacy.saved.graph import op_types
from legacy.saved.inputs.settings import is_number_of_settings
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.tensors.gradient_names import gradient_nodes

if TYPE_CHECKING:
    from legacy.saved.analysis.context import Context
    from workloads.lifted.plan import Effect

#: {type of an op that chooses one of two values: its inputs that are these}.
_CHOICES = {"Merge": slice(0, 2), "Select": slice(1, 3), "SelectV2": slice(1, 3)}


def addend(context: Context, effect: Effect) -> float | None:
    """Returns the constant that an update adds to a variable, by `assign_add` or `assign(v, v + 1)`; None for others.

    Of `assign(v, cond(finite, lambda: v + 1, lambda: v))`, which adds it under a condition, also that constant.

    Args:
      context: of the cut graph.
      effect: the update.
    """
    added = added_tensor(context, effect)
    return None if added is None else scalar(context, added)


def added_tensor(context: Context, effect: Effect) -> TensorId | None:
    """Returns what an update adds to a variable, a constant or not; None for other updates. See `addend`."""
    if not effect.values:
        return None
    value = parse_tensor_name(effect.values[0])
    if effect.op in op_types.ADDS:
        return value
    return _added(context, _changed_choice(context, effect) or value, effect) if effect.op in op_types.SETS else None


def is_chosen(context: Context, effect: Effect) -> bool:
    """Returns whether an assignment may set a variable to the value that it has, by a choice between two values."""
    return effect.op in op_types.SETS and bool(effect.values) and _changed_choice(context, effect) is not None


def _changed_choice(context: Context, effect: Effect) -> TensorId | None:
    """The changed value of an assignment of `cond(p, change, lambda: v)`, or of `where(p, changed, v)`; else None."""
    value = context.graph.origin(parse_tensor_name(effect.values[0]))
    choices = context.graph.inputs(value.node)[_CHOICES.get(context.graph.type(value.node), slice(0))]
    others = [one for one in choices if not _is_value(context, one, effect.writes[0])]
    return others[0] if len(choices) == 2 and len(others) == 1 else None


def _added(context: Context, value: TensorId, effect: Effect) -> TensorId | None:
    """The term that a sum adds to the variable of an update; None if it is no such sum."""
    value = context.graph.origin(value)
    if context.graph.type(value.node) not in op_types.SUMS_OF_TWO:
        return None
    terms = context.graph.inputs(value.node)
    own = [_is_value(context, term, effect.writes[0]) for term in terms]
    return terms[own.index(False)] if sorted(own) == [False, True] else None


def learning_rate(context: Context, effect: Effect) -> str | None:
    """Returns the scalar that multiplies an update: lr in `assign(w, w - lr * m / sqrt(s))` or `w + (m - lr * g)`.

    The difference may be what the step sets another variable to, such as a velocity.

    A scalar that is computed from gradients, as of clipping by their norm, is none, and what it multiplies is searched.

    Likewise where rows are subtracted, as TensorFlow's gradient descent subtracts those of an embedding.

    Args:
      context: of the cut graph.
      effect: an assignment that trains.

    Returns:
      The tensor's name; None where the update is of another form.
    """
    step = parse_tensor_name(effect.values[0])
    is_added = effect.op in op_types.ADDS
    if "ScatterSub" in effect.op:
        step = context.graph.inputs(effect.node)[2]  # behind the variable and the indices
    elif effect.op in op_types.SETS:
        kind, terms = context.graph.type(step.node), context.graph.inputs(step.node)
        is_added = kind in op_types.SUMS_OF_TWO
        if is_added and _is_value(context, terms[1], effect.writes[0]):
            terms = terms[::-1]
        if not (is_added or kind == "Sub") or not _is_value(context, terms[0], effect.writes[0]):
            return None
        step = terms[1]
    elif not is_added and effect.op not in op_types.SUBTRACTS:
        return None
    if not is_added:
        return _rate_of_step(context, step)
    step = _assigned(context, step)
    kind, terms = context.graph.type(step.node), context.graph.inputs(step.node)
    if kind == "Sub" and terms[1].node in context.of_gradients:
        return _rate_of_step(context, terms[1])
    negative = [term for term in terms if context.graph.type(term.node) == "Neg"]
    return _rate_of_step(context, negative[0]) if kind in op_types.ADDITIONS and len(negative) == 1 else None


def _assigned(context: Context, tensor: TensorId) -> TensorId:
    """Returns what the step sets another variable to, of a tensor that is its value, such as a velocity's."""
    name, graph = tensor.node, context.graph
    if graph.type(name) not in op_types.SETS:
        variable = context.state.aliases.get(graph.inputs(name)[0] if graph.type(name) in op_types.READS else tensor)
        writes = context.state.writes
        writers = [w for w, written in writes.items() if variable in written and w in context.of_gradients]
        if len(writers) != 1 or graph.type(writers[0]) not in op_types.SETS:
            return tensor
        name = writers[0]
    return graph.inputs(name)[1]


def _rate_of_step(context: Context, step: TensorId) -> str | None:
    """Returns the scalar factor of what an update subtracts, behind the sum with a momentum that it may be in."""
    while True:
        step = _assigned(context, step)
        kind, inputs = context.graph.type(step.node), context.graph.inputs(step.node)
        scalars = [factor for factor in inputs if _is_number(context, factor)] if kind == "Mul" else []
        rates = [rate for rate in (_rate_in_factor(context, factor) for factor in scalars) if rate is not None]
        others = [factor for factor in inputs if factor not in scalars]
        fed = [factor.name for factor in inputs if context.graph.type(factor.node).startswith("Placeholder")]
        if rates or (kind == "Mul" and fed and not scalars):
            return (rates or fed)[0]
        is_sum = kind in op_types.ADDITIONS
        new = [term for term in inputs if term.node in context.of_gradients] if is_sum else []
        if kind in ("Identity", "Neg", "RealDiv", "Div"):
            step = inputs[0]
        elif len(new) == 1:  # m * momentum + lr * g, where the other term is what was kept
            step = new[0]
        elif scalars and len(others) == 1:
            step = others[0]
        else:
            return None


def _is_number(context: Context, factor: TensorId) -> bool:
    """Returns whether a factor is a scalar, also where it is computed from fed ones, whose shape is not known."""
    return context.imported.shape(*factor) == () or is_number_of_settings(
        context.graph, context.imported, context.state.aliases, factor.node
    )


def _rate_in_factor(context: Context, factor: TensorId) -> str | None:
    """Returns the part of a scalar factor that is computed from no gradient: lr in `lr * |w| / |g|`."""
    if factor.node not in context.of_gradients:
        return factor.name
    if context.graph.type(factor.node) != "Mul":
        return None
    parts = [part for part in context.graph.inputs(factor.node) if part.node not in context.of_gradients]
    return parts[0].name if len(parts) == 1 and not _is_of_weights(context, parts[0]) else None


def rate_in_gradient(context: Context, gradient: str, weight: str) -> str | None:
    """Returns the rate by which a program multiplies a gradient, with a ratio of norms: lr of LARS.

    An update op then takes 1 for its rate. A bound over a norm, as of clipping, is no ratio to the norm of the weight.

    Args:
      context: of the cut graph.
      gradient: the tensor that an update op takes.
      weight: the variable that it changes.

    Returns:
      The tensor's name; None where the gradient is of another form.
    """
    graph, name = context.graph, context.graph.origin(parse_tensor_name(gradient)).node
    factors = graph.inputs(name) if graph.type(name) == "Mul" else []
    for factor in [one for one in factors if context.imported.shape(*one) == () and one.node in context.of_gradients]:
        parts = graph.inputs(factor.node) if graph.type(factor.node) == "Mul" else []
        rates = [part for part in parts if part.node not in context.of_gradients]
        ratios = [part.node for part in parts if part not in rates]
        if len(rates) == 1 and weight in graph.ancestors(ratios, gradient_nodes(graph), controls=False):
            return rates[0].name
    return None


def _is_of_weights(context: Context, tensor: TensorId) -> bool:
    """Returns whether a tensor is computed from weights, as their norm is."""
    weights = {context.state.writes[rule][0] for rule in context.state.rules}
    return not weights.isdisjoint(context.graph.ancestors([tensor.node], controls=False))


def only_corrects_bias(context: Context, rate: str, counter: str) -> bool:
    """Tells a bias correction, such as Adam's, from a schedule: a rate that depends on `1 - beta ** step` alone.

    Args:
      context: of the cut graph.
      rate: name of the learning rate's tensor.
      counter: name of the step counter.

    Returns:
      Whether the learning rate depends on the counter in no other way.
    """
    corrections = {name for name in context.graph.nodes if _is_correction(context, name)}
    behind = context.graph.ancestors([parse_tensor_name(rate).node], stop=corrections, controls=False)
    return bool(corrections & behind) and counter not in behind


def _is_correction(context: Context, name: str) -> bool:
    """Returns whether a node is `1 - beta ** step`, for a number beta."""
    graph = context.graph
    if graph.type(name) != "Sub":
        return False
    one, power = graph.inputs(name)
    if graph.type(power.node) != "Pow" or scalar(context, one) != 1:
        return False
    beta = scalar(context, graph.inputs(power.node)[0])
    return beta is not None and 0 < beta < 1


def scalar(context: Context, tensor: TensorId) -> float | None:
    """Returns a tensor's value if that is one constant number, or None."""
    constant = context.imported.constant(*tensor)
    return float(constant) if constant is not None and np.ndim(constant) == 0 else None


def _is_value(context: Context, tensor: TensorId, variable: str) -> bool:
    """Returns whether a tensor is a variable's value, in a branch too."""
    for _ in range(2):  # Switches let a resource into a branch, or what was read of it
        if context.state.aliases.get(tensor) == variable:
            return True
        tensor = context.graph.before_branches(tensor)
        if context.graph.type(tensor.node) == "ReadVariableOp":
            tensor = context.graph.inputs(tensor.node)[0]
    return context.state.aliases.get(tensor) == variable
