"""Hazards of weights of classes: those that balance them the wrong way round, and those that multiply the logits."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies, filled
from legacy.saved.hazards.basics.elements import key_of_elements, source_of_elements
from legacy.saved.hazards.basics.evaluation import evaluate
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Numbers of labels of 1 and of 0, by which weights are evaluated: few of one class, and few of the other.
RARE, COMMON = 2.0, 8.0
#: Ops of an element of the result by an element of each input.
_ELEMENTWISE = ("Add", "AddV2", "Sub", "Mul", "Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LogicalNot")
#: Ops of a result by all elements of a tensor.
_TOTALS = ("Sum", "Mean", "Size")


def logits_times_class_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cross entropies whose logits are multiplied by constants that differ by class; one hazard for all.

    Constants of 0 and 1 are a mask of classes, and one number for all of them a scale.
    """
    graph = whole.graph
    for entropy in cross_entropies(whole):
        product = source_of_elements(graph, entropy.logits).node
        inputs = graph.inputs(product) if graph.type(product) in ("Mul", *op_types.QUOTIENTS) else []
        for weight, value in zip(inputs, reversed(inputs)):
            numbers = constant_array(graph, weight.node) if value.node in made_by_weights(whole) else None
            if numbers is None or numbers.size < 2 or numbers.size != numbers.shape[-1] or numbers.min() < 0:
                continue
            if numbers.min() != numbers.max() and set(numbers.ravel().tolist()) != {0.0, 1.0}:
                yield Hazard(
                    "LOGITS_TIMES_CLASS_WEIGHTS",
                    product,
                    f"{product} multiplies the logits of {entropy.op} by {weight.node}, numbers that differ by class, "
                    f"from {numbers.min():.4g} to {numbers.max():.4g}: the model takes them up in its weights, and no "
                    "class counts more than another",
                    "multiply each example's cross entropy by the weight of its label; for parity keep the product",
                )
                return


def reversed_class_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds products with weights that labels and their counts give, and that rise with a class's count; one for all.

    The weights are evaluated for a label of 1 and one of 0 where few labels are 1, and where few are 0.
    """
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Mul") if not is_gradient_op(name)]:
        inputs = graph.inputs(name)
        for weight, value in zip(inputs, reversed(inputs)):
            if value.node not in made_by_weights(whole) or weight.node in made_by_weights(whole):
                continue
            labels = _labels(whole, weight.node) if weight.node in whole.data else None
            rare = _ratio(whole, weight, labels, RARE, COMMON) if labels is not None else None
            common = _ratio(whole, weight, labels, COMMON, RARE) if rare is not None and labels is not None else None
            if rare is not None and common is not None and rare < 1 < common:
                yield Hazard(
                    "CLASS_WEIGHTS_REVERSED",
                    name,
                    f"{name} multiplies {value.node} by weights {weight.node} of the labels: where 2 of 10 labels are "
                    f"1, a label of 1 counts {rare:.2g} times as much as one of 0, and where 8 are 1, {common:.2g} "
                    "times: the rarer class counts less, in place of more",
                    "weight each class by the share of the other one; for parity keep it",
                )
                return


def _labels(whole: WholeGraph, weight: str) -> TensorId | None:
    """The one tensor of which totals are taken for a weight, which depends on its elements besides; else None."""
    graph = whole.graph
    before = graph.ancestors([weight], controls=False)
    totals = [name for name in before if graph.type(name) in _TOTALS and name in whole.data]
    if not totals:
        return None
    tensors = {key_of_elements(graph, leaf): leaf for name in totals for leaf in _leaves(whole, graph.inputs(name)[0])}
    return next(iter(tensors.values())) if len(tensors) == 1 else None


def _leaves(whole: WholeGraph, tensor: TensorId) -> list[TensorId]:
    """The tensors of data that elementwise functions are computed from, past copies."""
    graph, todo, found, seen = whole.graph, [tensor], [], {tensor}
    while todo:
        source = source_of_elements(graph, todo.pop())
        inputs = [one for one in graph.inputs(source.node) if one.node in whole.data]
        if graph.type(source.node) in _ELEMENTWISE:
            todo += [one for one in inputs if one not in seen]
            seen.update(inputs)
        else:
            found.append(source)
    return found


def _ratio(whole: WholeGraph, weight: TensorId, labels: TensorId, ones: float, zeros: float) -> float | None:
    """The weight of a label of 1 over that of a label of 0, for given numbers of both; None where not known."""
    graph = whole.graph
    given: dict[TensorId, float] = {}
    for name in graph.order(graph.ancestors([weight.node], controls=False)):
        if graph.type(name) not in _TOTALS:
            continue
        values = [_of_label(whole, graph.inputs(name)[0], labels, label, given) for label in (1.0, 0.0)]
        first, second = (1.0, 1.0) if graph.type(name) == "Size" else values
        if first is None or second is None:
            return None
        total = ones * first + zeros * second
        given[TensorId(name, 0)] = total / (ones + zeros) if graph.type(name) == "Mean" else total
    of_one, of_zero = (_of_label(whole, weight, labels, label, given) for label in (1.0, 0.0))
    return of_one / of_zero if of_one is not None and of_zero is not None and of_one > 0 and of_zero > 0 else None


def _of_label(
    whole: WholeGraph, tensor: TensorId, labels: TensorId, label: float, given: dict[TensorId, float]
) -> float | None:
    """A function of labels and totals for one label.

    Args:
      whole: the graph.
      tensor: of the function.
      labels: the tensor that has the labels.
      label: the number.
      given: {total: its number}.
    """
    before = whole.graph.ancestors([tensor.node], controls=False)
    key = key_of_elements(whole.graph, labels)
    sources = [name for name in before if key_of_elements(whole.graph, TensorId(name, labels.output)) == key]
    copies = {TensorId(name, labels.output): label for name in sources}
    arrays = [name for name in before if whole.graph.type(name) == "Const" and whole.value(name) is None]
    numbers = {TensorId(name, 0): filled(whole, name) for name in arrays}
    known = {array: number for array, number in numbers.items() if number is not None}
    return evaluate(whole, tensor, {**known, **given, **copies})
