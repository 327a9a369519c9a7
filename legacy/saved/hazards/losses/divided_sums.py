"""Hazards of sums of towers' gradients that are divided by another number than that of the towers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from legacy.saved.analysis import updates_by_hand
from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.reduction.multipliers import factors_on_sum, multiplier_of_mean
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_inputs, linear_weights
from legacy.saved.hazards.losses.scales import is_unscaled, loss_scale
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Combine, Effect, Phase
from workloads.support.wording import counted

#: Relative difference within which a factor is one over a whole number.
TOLERANCE = 1e-5


class _Divided(NamedTuple):
    """A sum of towers' gradients that is divided by a constant.

    Attributes:
      combine: how the gradients are combined.
      node: where the quotient is.
      by: the whole number.
    """

    combine: Combine
    node: str
    by: int


def sums_divided_by_another_count(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds train ops that divide the sum of N towers' gradients by a whole number that is not N."""
    count = found.plan.towers
    for phase in found.plan.phases if count > 1 else []:
        effects = {effect.writes[0]: effect for effect in phase.effects if effect.node in found.context.state.rules}
        sums = [one for one in phase.combine if one.kind == "sum" and one.weight in effects]
        divided: list[_Divided] = []
        for one in [one for one in sums if sum(map(len, one.parts)) == count]:
            effect = effects[one.weight]
            is_rule = op_types.is_apply(effect.op)
            divided += _by_rule(whole, found, phase, one) if is_rule else _by_hand(whole, found, phase, one, effect)
        wrong = [one for one in divided if not _is_mean_over_all_examples(whole, found, phase, one.by)]
        if wrong:
            number = wrong[0].by
            yield Hazard(
                "GRADIENTS_DIVIDED_BY_ANOTHER_COUNT",
                wrong[0].node,
                f"the sum of {count} towers' gradients{_with_others(wrong[0].combine)} of "
                f"{counted(len(wrong), 'variable')} is divided by {number}: "
                f"{phase.train_op} takes {count}/{number} of their mean",
                "divide by the number of replicas; for parity keep the factor, or give it to the learning rate",
            )


def _by_rule(whole: WholeGraph, found: Analysis, phase: Phase, combine: Combine) -> Iterator[_Divided]:
    """Yields a sum that an update rule takes, if it is divided by another number than that of the towers.

    Args:
      whole: the graph.
      found: its analysis.
      phase: a train op.
      combine: the sum.
    """
    count, scale, factor = found.plan.towers, loss_scale(whole, phase), combine.scale * phase.loss_scale
    divisor = round(1 / factor) if 0 < factor < 1 else count
    if (
        divisor != count
        and not is_unscaled(combine, scale, count)
        and not is_unscaled(combine, scale * scale, count)
        and not _is_multiplied_mean(found, phase, combine)
        and not _is_multiplied_by_share(found, combine)
        and abs(factor * divisor - 1) < TOLERANCE
    ):
        yield _Divided(combine, parse_tensor_name(combine.tensor).node, divisor)


def _by_hand(whole: WholeGraph, found: Analysis, phase: Phase, combine: Combine, effect: Effect) -> Iterator[_Divided]:
    """Yields a sum that an update by hand takes, with a learning rate, if a quotient divides it by a number.

    The learning rate and shares of moving averages are factors, too: only a quotient by a whole number, or a factor
    that is no decimal fraction, such as 1/3, is a count.

    Args:
      whole: the graph.
      found: its analysis.
      phase: a train op.
      combine: the sum.
      effect: the update.
    """
    graph, count = found.cut.graph, found.plan.towers
    rate = updates_by_hand.learning_rate(found.context, effect) if effect.values else None
    if rate is None or phase.loss_scale != 1 or loss_scale(whole, phase) != 1:
        return
    factors = factors_on_sum(graph, found.context.imported, combine, count)
    if any(abs(factor.value * count - 1) < TOLERANCE for factor in factors):
        return
    for factor in factors:
        number = round(1 / factor.value) if 0 < factor.value < 1 else 0
        is_count = graph.type(factor.node) in op_types.QUOTIENTS or not _is_decimal(number)
        is_rate = rate in [tensor.name for tensor in graph.inputs(factor.node)]
        if number > 1 and is_count and not is_rate and abs(factor.value * number - 1) < TOLERANCE:
            yield _Divided(combine, factor.node, number)
            return


def _is_decimal(number: int) -> bool:
    """Whether one over a number is a finite decimal fraction, such as a share of 0.1, which programs write so.

    >>> _is_decimal(20), _is_decimal(3)
    (True, False)
    """
    for prime in (2, 5):
        while number and number % prime == 0:
            number //= prime
    return number < 2


def _is_multiplied_mean(found: Analysis, phase: Phase, combine: Combine) -> bool:
    """Whether a program multiplies the mean by a constant, as of a layer's learning rate; not by 1/N once more.

    A product with 1/N is one, too, where other variables' gradients are the mean itself: what averages gradients does
    the same to all of them.
    """
    graph, imported, count = found.cut.graph, found.context.imported, found.plan.towers
    multiplier = multiplier_of_mean(graph, imported, combine, count)
    if multiplier is None or abs(multiplier * count - 1) > TOLERANCE:
        return multiplier is not None
    last = factors_on_sum(graph, imported, combine, count)[:1]
    is_product = bool(last) and graph.type(last[0].node) == "Mul"
    return is_product and any(one.kind == "mean" or abs(one.scale * count - 1) < TOLERANCE for one in phase.combine)


def _is_multiplied_by_share(found: Analysis, combine: Combine) -> bool:
    """Whether a product has a share of the sum, such as 0.1 for a layer's learning rate, which no number of towers is.

    A half, a quarter and so on may be one over a number of towers.
    """
    factors = factors_on_sum(found.cut.graph, found.context.imported, combine, found.plan.towers)
    numbers = [round(1 / one.value) for one in factors if found.cut.graph.type(one.node) == "Mul" and 0 < one.value < 1]
    return any(number % 5 == 0 and _is_decimal(number) for number in numbers)


def _is_mean_over_all_examples(whole: WholeGraph, found: Analysis, phase: Phase, divisor: int) -> bool:
    """Whether a sum is divided by the number of all towers' examples, and no tower's loss is a mean over its own.

    Losses that are sums over examples, such as an l2_loss, are averaged so.
    """
    batch, loss = found.plan.batch, parse_tensor_name(phase.losses[0]).node if phase.losses else ""
    if batch is None or divisor != batch * found.plan.towers or loss not in whole.graph.nodes:
        return False
    graph = found.cut.graph
    terms = [name for name in linear_weights(whole, loss) if not any(linear_inputs(whole, name))]
    means = [name for name in terms if name in graph.nodes and graph.type(name) == "Mean"]
    shapes = [found.context.imported.shape(*graph.inputs(name)[0]) for name in means]
    return not any(shape is None or shape[:1] in ([batch], (batch,)) for shape in shapes)


def _with_others(combine: Combine) -> str:
    """The words for what a sum of gradients contains besides, that no tower computes."""
    return ", and of a gradient that no tower computes, such as a penalty's," if combine.affine else ""
