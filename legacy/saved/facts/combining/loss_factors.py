"""Factors of the losses that a sum of the towers' gradients makes a mean by."""

from __future__ import annotations

from legacy.saved.analysis import updates_by_hand
from legacy.saved.analysis.loss_scale import has_sum, may_be_its_own, sizes_of_inputs
from legacy.saved.analysis.reduction.growth import Growth
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.graph import op_types
from workloads.lifted.graph import TensorId, parse_tensor_name
from workloads.lifted.plan import Phase

#: What losses are that the number of all towers' examples divides, where the graph computes it.
BY_WHOLE_BATCH = "of losses that are divided by the number of all towers' examples: a mean"
#: Relative difference within which a factor is one over the number of towers.
TOLERANCE = 1e-6


def of_divided_losses(analysed: AnalysedStep, phase: Phase) -> str:
    """The words for a sum that is a mean, since terms of the losses are divided, or sums over examples; else ""."""
    factors, towers = factors_of_losses(analysed, phase), analysed.plan.towers
    if phase.shared_loss or not factors:
        return ""
    if are_divided_by_the_whole_batch(analysed, phase):
        return f" {BY_WHOLE_BATCH}"
    if all(abs(factor * towers - 1) < TOLERANCE for factor in factors):
        if may_be_their_own(analysed, phase):
            return f" of losses with a factor of {factors[0]:g} on what depends on data"
        return f" of losses whose terms of data count 1/{towers}: a mean of those"
    losses = [parse_tensor_name(name).node for name in phase.losses]
    are_sums = all(has_sum(analysed.graph, analysed.context.data, name) for name in losses)
    text = of_all_examples(analysed, factors) if are_sums else ""
    return f"{text[1:]}: a mean" if text.startswith(",") else ""


def are_divided_by_the_whole_batch(analysed: AnalysedStep, phase: Phase) -> bool:
    """Returns whether each tower's loss is a sum over its examples, divided by the size of the batch of all towers."""
    data = [entry for entry in analysed.plan.inputs if entry.kind != "setting"]
    dealt = {entry.origin for entry in data if entry.kind == "batch"}
    whole = {name for entry in data if entry.kind == "same" and entry.origin in dealt for name in entry.tensors}
    graph, growth = (
        analysed.graph,
        Growth(analysed.graph, analysed.imported, analysed.context.data, analysed.plan.batch),
    )

    def is_divided(loss: TensorId) -> bool:
        if graph.type(loss.node) in ("Identity", *op_types.ADDITIONS):
            return all(is_divided(tensor) for tensor in graph.inputs(loss.node))
        if graph.type(loss.node) not in op_types.QUOTIENTS:
            return False
        total, number = graph.inputs(loss.node)[:2]
        return growth.power(total) == 1 and growth.power(number) == 1 and is_size(number.node)

    def is_size(name: str) -> bool:
        while graph.type(name) in ("Cast", "Identity", "StridedSlice"):
            name = graph.inputs(name)[0].node
        return graph.type(name) == "Shape" and graph.inputs(name)[0].name in whole

    return bool(whole) and bool(phase.losses) and all(is_divided(parse_tensor_name(loss)) for loss in phase.losses)


def may_be_their_own(analysed: AnalysedStep, phase: Phase) -> bool:
    """Returns whether the factor on a loss's only term of data may have another meaning than the number of towers."""
    if not phase.losses:  # the gradient graph does not tell them
        return False
    graph, data, name = analysed.graph, analysed.context.data, parse_tensor_name(phase.losses[0]).node
    while graph.type(name) in ("Identity", *op_types.ADDITIONS):
        inputs = [tensor.node for tensor in graph.inputs(name) if tensor.node in data]
        if len(inputs) != 1:
            return False
        name = inputs[0]
    return may_be_its_own(graph, data, name, analysed.plan.towers, sizes_of_inputs(analysed.plan))


def factors_of_losses(analysed: AnalysedStep, phase: Phase) -> list[float]:
    """The constant factor on what each loss of a train op makes of its data."""
    losses = [parse_tensor_name(name).node for name in phase.losses]
    has_sums = any(has_sum(analysed.graph, analysed.context.data, name) for name in losses)
    # What is a mean over the examples already is not divided by their number again.
    of_examples = analysed.plan.batch == analysed.plan.towers and not has_sums
    return [_data_factor(analysed, name, of_examples) for name in losses]


def of_all_examples(analysed: AnalysedStep, factors: list[float]) -> str:
    """The end of a sentence on a sum whose losses are divided by a whole number, such as one of examples; else ""."""
    numbers = {round(1 / factor, 6) for factor in factors if factor}
    if len(numbers) != 1 or not all(number > 1 and number == int(number) for number in numbers):
        return ""
    number, towers, batch = int(numbers.pop()), analysed.plan.towers, analysed.plan.batch
    if batch:
        return (
            f", of losses that are divided by the {number} examples of all towers" if number == towers * batch else ""
        )
    return f"; each tower's loss is divided by {number}: if all towers together have so many examples, that is a mean"


def _data_factor(analysed: AnalysedStep, name: str, of_examples: bool = False) -> float:
    """The outermost constant factor on all terms of a loss that depend on data; 1 where they have several.

    Args:
      analysed: the training step.
      name: the node of a loss.
      of_examples: whether a divisor that is the number of a tower's examples counts, too: it makes a mean of these, and
        is no weight of the tower.

    Returns:
      The factor.
    """
    graph, kind = analysed.graph, analysed.graph.type(name)
    inputs = [tensor for tensor in graph.inputs(name) if tensor.node in analysed.context.data]
    if kind in ("Identity", *op_types.ADDITIONS) and inputs:
        factors = {_data_factor(analysed, tensor.node, of_examples) for tensor in inputs}
        return factors.pop() if len(factors) == 1 else 1.0
    if kind in ("Mul", "RealDiv", "Div") and len(inputs) == 1:
        other = next(tensor for tensor in graph.inputs(name) if tensor != inputs[0])
        number = updates_by_hand.scalar(analysed.context, other)
        if number and (of_examples or kind == "Mul" or number != analysed.plan.batch):
            return number if kind == "Mul" else 1.0 / number
    return 1.0
