"""Updates of rows by AdaMax and Nadam, as `tf.contrib.opt` makes them of plain ops."""

from __future__ import annotations

from typing import NamedTuple

from legacy.saved.analysis import updates_by_hand
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.updates.rows_of_moments import Moments, change_of, decay_of_slot, slots_of, variable_of_rows
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId
from workloads.lifted.plan import Effect, Phase


class RowRule(NamedTuple):
    """A rule by which rows are updated: its name, and its constants."""

    name: str
    constants: Moments


def variant_of_rows(analysed: AnalysedStep, phase: Phase, effect: Effect) -> RowRule | None:
    """Finds the rule of an update of rows by a variant of Adam.

    AdaMax adds `-lr / (1 - b1^t) * (m / (max(b2 * v, |g|) + epsilon))` to the rows, and Nadam
    `-lr * (b1 * m + (1 - b1) * g) / (sqrt(v) + epsilon)`.

    Args:
      analysed: the training step.
      phase: the train op.
      effect: an update.

    Returns:
      The rule; None for any other update.
    """
    graph, change = analysed.graph, change_of(effect, "ScatterAdd", "ScatterSub")
    if change is None:
        return None
    change = graph.origin(change)
    factors = graph.inputs(change.node) if graph.type(change.node) == "Mul" else [change]
    quotients = [factor.node for factor in factors if graph.type(factor.node) in op_types.QUOTIENTS]
    if not quotients:
        return None
    numerator, divisor = graph.inputs(quotients[-1])
    denominator, epsilon = _with_number(analysed, divisor, op_types.ADDITIONS)
    if denominator is None or epsilon is None:
        return None
    slots = slots_of(analysed, effect)
    if graph.type(denominator.node) == "Maximum" and len(factors) == 2:
        name, betas = "AdaMax", _betas_of_adamax(analysed, numerator, denominator, slots)
    else:
        name, betas = "Nadam", _betas_of_nadam(analysed, phase, numerator, denominator, slots)
    return None if betas is None else RowRule(name, Moments(*betas, epsilon))


def _betas_of_adamax(
    analysed: AnalysedStep, numerator: TensorId, maximum: TensorId, slots: set[str]
) -> tuple[float, float] | None:
    """Returns b1 and b2 of `(b1 * m + (1 - b1) * g) / max(b2 * v, |g|)`; None for any other quotient.

    Args:
      analysed: the training step.
      numerator: of the quotient.
      maximum: the denominator, without epsilon.
      slots: of the variable.
    """
    graph = analysed.graph
    operands = graph.inputs(maximum.node)
    decayed = next((own for own in operands if graph.type(own.node) == "Mul"), None)
    beta1 = _share(analysed, numerator, slots)
    beta2 = None if decayed is None else _kept(analysed, decayed, slots)
    if beta1 is None or beta2 is None or not any(graph.type(own.node) == "Abs" for own in operands):
        return None
    return beta1, beta2


def _betas_of_nadam(
    analysed: AnalysedStep, phase: Phase, numerator: TensorId, root: TensorId, slots: set[str]
) -> tuple[float, float] | None:
    """Returns b1 and b2 of `lr * (b1 * m + (1 - b1) * g) / sqrt(v)`; None for any other quotient.

    Args:
      analysed: the training step.
      phase: the train op, which multiplies `v` by b2.
      numerator: of the quotient.
      root: the denominator, without epsilon.
      slots: of the variable.
    """
    graph = analysed.graph
    factors = graph.inputs(numerator.node) if graph.type(numerator.node) == "Mul" else []
    beta1 = next((share for share in (_share(analysed, own, slots) for own in factors) if share is not None), None)
    slot = variable_of_rows(analysed, graph.inputs(root.node)[0].node) if graph.type(root.node) == "Sqrt" else ""
    beta2 = decay_of_slot(analysed, phase, slot) if slot in slots else None
    return None if beta1 is None or beta2 is None else (beta1, beta2)


def _share(analysed: AnalysedStep, total: TensorId, slots: set[str]) -> float | None:
    """Returns the number that multiplies rows of a slot in a sum with another term; None for any other tensor."""
    graph = analysed.graph
    terms = graph.inputs(total.node) if graph.type(total.node) in op_types.ADDITIONS else []
    found = [share for share in (_kept(analysed, term, slots) for term in terms) if share is not None]
    return found[0] if len(found) == 1 else None


def _kept(analysed: AnalysedStep, product: TensorId, slots: set[str]) -> float | None:
    """Returns the number that multiplies rows of a slot; None for any other tensor."""
    rows, number = _with_number(analysed, product, ("Mul",))
    return number if rows is not None and variable_of_rows(analysed, rows.node) in slots else None


def _with_number(
    analysed: AnalysedStep, tensor: TensorId, kinds: tuple[str, ...]
) -> tuple[TensorId | None, float | None]:
    """Returns (other operand, constant number) of an op of two operands; (None, None) for any other op.

    Args:
      analysed: the training step.
      tensor: the op's result.
      kinds: types of the op.
    """
    graph = analysed.graph
    operands = graph.inputs(tensor.node) if graph.type(tensor.node) in kinds else []
    if len(operands) == 2:
        for own, other in (operands, operands[::-1]):
            number = updates_by_hand.scalar(analysed.context, other)
            if number is not None:
                return own, number
    return None, None
