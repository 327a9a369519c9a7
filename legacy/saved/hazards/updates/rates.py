"""Hazards of a learning rate that counts twice, or the towers besides."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.directions import applied_gradient, applied_rate
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor, linear_weights
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Phase
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted

#: Endings of rules whose step is a multiple of the gradient; others, such as Adam, divide by its size.
_LINEAR = ("ApplyGradientDescent", "ApplyMomentum", "ApplyKerasMomentum")
_COPIES = ("Identity", "Cast", "Reshape", "ExpandDims", "Squeeze", "AddN", "Pack", "Mean", *op_types.JOINS)
_PRODUCTS = ("Mul", "RealDiv", "Div")
#: Relative difference within which a factor is one.
TOLERANCE = 1e-6


def learning_rate_twice(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds updates that multiply a gradient by the learning rate which they are given besides; one hazard for all."""
    found = {}
    for apply in [name for name in whole.applies if whole.graph.type(name).endswith(_LINEAR)]:
        rate = _rate(whole, apply)
        product = _product_with(whole, applied_gradient(whole, apply), rate) if rate else ""
        if product:
            found[apply] = (product, rate)
    for apply, (product, rate) in found.items():
        yield Hazard(
            "LEARNING_RATE_TWICE",
            product,
            f"{counted(len(found), 'update takes', 'updates take')} a gradient that was multiplied by the learning "
            f"rate {rate}, and {apply} multiplies by it once more: the step is that of the squared rate",
            "leave one of them out; for parity keep both",
        )
        return


def _rate(whole: WholeGraph, apply: str) -> str:
    """The node that an update takes the learning rate from; "" if its op definition names none."""
    rate = applied_rate(whole, apply)
    return _origin(whole, rate.node) if rate is not None else ""


def _origin(whole: WholeGraph, name: str) -> str:
    while whole.graph.type(name) in op_types.COPIES and whole.graph.inputs(name):
        name = whole.graph.inputs(name)[0].node
    return name


def _product_with(whole: WholeGraph, gradient: str, rate: str) -> str:
    """The product with a learning rate that a gradient is a part or a multiple of; "" if there is none."""
    graph, todo, seen = whole.graph, [gradient] if gradient else [], set()
    while todo:
        name = todo.pop()
        if name in seen or is_gradient_op(name):
            continue
        seen.add(name)
        inputs = [tensor.node for tensor in graph.inputs(name)]
        if graph.type(name) == "Mul" and rate in [_origin(whole, before) for before in inputs]:
            others = [before for before in inputs if _origin(whole, before) != rate]
            if any(is_gradient_op(node) for node in graph.ancestors(others, controls=False)):
                return name
        if graph.type(name) in _COPIES + _PRODUCTS:
            todo += inputs
    return ""


def rates_scaled_beside_sums(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds updates by summed gradients of whole losses with a learning rate times the number of towers.

    All train ops have that factor: twice the rate for a discriminator, beside that of a generator, is a choice.
    """
    count = found.plan.towers
    phases = found.plan.phases if count > 1 else []
    multiples = [_scaled_rates(whole, phase, count) for phase in phases]
    for phase, scaled in zip(phases, multiples if all(multiples) else []):
        if abs(phase.loss_scale - 1) > TOLERANCE or not _are_summed(phase):
            continue
        yield Hazard(
            "LEARNING_RATE_SCALED_WITH_SUM",
            scaled[0],
            f"{scaled[0]} multiplies the learning rate by {count}, and {phase.train_op} sums the gradients of {count} "
            f"towers: if the factor counts the towers, they count twice, and a step is {count * count} times that of "
            "the mean at the rate without it",
            f"either sum, or scale the rate; for parity, average and give {count * count} times the rate",
        )
        return


def _are_summed(phase: Phase) -> bool:
    """Whether gradients are summed for a rule whose step is a multiple of them."""
    summed = {one.weight for one in phase.combine if one.kind == "sum" and abs(one.scale - 1) < TOLERANCE}
    return any(effect.writes[0] in summed for effect in phase.effects if effect.op.endswith(_LINEAR))


def _scaled_rates(whole: WholeGraph, phase: Phase, count: int) -> list[str]:
    """The products with the number of towers in the learning rates of all weights.

    One in the rate of some weights alone, such as twice the rate for biases, has no count of towers.
    """
    scaled = [effect for effect in phase.effects if effect.learning_rate]
    rates = {parse_tensor_name(effect.learning_rate or "").node for effect in scaled} & whole.graph.nodes.keys()
    products = []
    for rate in sorted(rates):
        factors = [(name, constant_factor(whole, name)) for name in linear_weights(whole, rate)]
        products.append([name for name, factor in factors if factor is not None and factor[1] == count])
    first, *others = products or [[]]
    return [name for name in first if all(name in other for other in others)]
