"""Constants that multiply some variables' gradients, which an optimizer divides by their own size afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.reduction.multipliers import multiplier_of_mean
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.graph.old_ops import registered_op
from workloads.lifted.plan import Combine, Effect, Phase
from workloads.support.wording import counted

#: Endings of rules whose step stays as it is where all gradients are multiplied by one number, but for the epsilon.
_WITHOUT_SIZE = ("ApplyAdam", "ApplyAdaMax", "ApplyRMSProp", "ApplyCenteredRMSProp")
#: The largest epsilon beside which usual gradients are large.
_LARGEST_EPSILON = 1e-5
#: A constant nearer to 1 than this is no rate of a layer's own.
_LEAST_FACTOR = 1.5


def multipliers_without_effect(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds gradients of some variables that a constant multiplies, as for a rate of their own, and Adam takes."""
    for phase in found.plan.phases:
        updates = {effect.writes[0]: effect for effect in phase.effects if effect.op.endswith(_WITHOUT_SIZE)}
        taken = [entry for entry in phase.combine if _is_taken(whole, entry, updates.get(entry.weight))]
        factors = {entry.weight: _factor(found, entry) for entry in taken}
        scaled = [weight for weight, factor in factors.items() if factor is not None]
        if not scaled or not any(entry.kind == "mean" for entry in taken):
            continue
        if all(_weighs_losses(whole, phase, abs(factors[weight] or 0.0)) for weight in scaled):
            continue
        names = ", ".join(scaled[:3])
        numbers = ", ".join(f"{number:g}" for number in sorted({factors[weight] or 0.0 for weight in scaled}))
        rule = updates[scaled[0]].op.rpartition("Apply")[2]
        yield Hazard(
            "MULTIPLIER_WITHOUT_EFFECT",
            _node(phase, scaled[0]),
            f"the gradients of {counted(len(scaled), 'variable')} ({names}) are multiplied by {numbers}, and {rule} "
            "divides each gradient by its own size: the steps are those without the constant",
            "an optimizer of their own with another learning rate; for parity leave the old behaviour as it is",
        )


def _weighs_losses(whole: WholeGraph, phase: Phase, factor: float) -> bool:
    """Whether a constant is the weight of a loss: it multiplies an addend of the gradients of other variables, too."""
    graph = whole.graph
    for entry in phase.combine:
        sums = [graph.origin(parse_tensor_name(name)).node for tower in entry.parts[:1] for name in tower]
        for total in [name for name in sums if name in graph.nodes and graph.type(name) in op_types.ADDITIONS]:
            scales = [constant_factor(whole, graph.origin(term).node) for term in graph.inputs(total)]
            if any(one is not None and abs(abs(one[1]) - factor) <= 1e-5 * factor for one in scales):
                return True
    return False


def _node(phase: Phase, weight: str) -> str:
    """The node that makes a variable's combined gradient."""
    return parse_tensor_name(next(entry.tensor for entry in phase.combine if entry.weight == weight)).node


def _is_taken(whole: WholeGraph, entry: Combine, effect: Effect | None) -> bool:
    """Whether an update with a small constant epsilon takes a combined gradient as it is, with nothing added."""
    if effect is None or effect.gradient is None or entry.affine or effect.node not in whole.graph.nodes:
        return False
    definition = registered_op(whole.graph.type(effect.node))
    names = [argument.name for argument in definition.input_arg] if definition is not None else []
    numbers = [whole.value(i.node) for i, n in zip(whole.graph.inputs(effect.node), names) if n == "epsilon"]
    is_small = all(number is not None and abs(number) <= _LARGEST_EPSILON for number in numbers)
    return is_small and whole.graph.origin(parse_tensor_name(effect.gradient)) == parse_tensor_name(entry.tensor)


def _factor(found: Analysis, entry: Combine) -> float | None:
    """The positive constant, far from 1, that multiplies the mean of a variable's gradients; None without one."""
    towers = found.plan.towers
    factor = multiplier_of_mean(found.cut.graph, found.context.imported, entry, towers)
    if factor is None or factor <= 0 or 1 / _LEAST_FACTOR < factor < _LEAST_FACTOR:
        return None
    return None if abs(factor - towers) < 1e-5 * towers else factor
