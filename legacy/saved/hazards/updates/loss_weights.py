"""Hazard of trained numbers that weight the terms of a loss: it falls where they do, whatever the network computes."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.directions import minimized_targets
from legacy.saved.hazards.basics.gradient_flow import gradient_flow
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_signs import linear_signs
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.signs.pushes import Pushes
from workloads.lifted.graph import TensorId
from workloads.support.wording import FEW, counted, listed

#: Functions of a trained number that come near 0 and do not reach it.
_POSITIVE = ("Exp", "Softplus", "Reciprocal", "Inv")
#: Ops whose results are not below 0.
_NOT_NEGATIVE = (
    "Abs",
    "L2Loss",
    "Relu",
    "SoftmaxCrossEntropyWithLogits",
    "SparseSoftmaxCrossEntropyWithLogits",
    "Square",
    "SquaredDifference",
)
_COPIES = ("Identity", "ReadVariableOp", "Reshape", "Squeeze", "StridedSlice", "Unpack", "Cast")


def trained_loss_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds terms of a loss that a trained number multiplies, as it is or as `exp(-s)`; one hazard for all of them.

    A multiplier that is trained beside a term behind `stop_gradient` weights a constraint, such as the temperature of a
    soft actor-critic. `exp(-s)` is fine where the loss has another term of s.
    """
    found: dict[str, str] = {}
    for target in whole.targets:
        for name in linear_weights(whole, target):
            if whole.graph.type(name) == "Mul" and name in whole.data:
                found.update((variable, name) for variable in _numbers(whole, name))
    for variable, name in found.items():
        yield Hazard(
            "LOSS_WEIGHT_TRAINED",
            name,
            f"{counted(len(found), 'trained number multiplies a term', 'trained numbers multiply terms')} of the loss "
            f"({listed(list(found), FEW)}): the loss falls without end where {variable} does",
            "weight the terms by constants, or by exp(-s) with s added to the loss; for parity keep it",
        )
        return
    yield from _vanishing_weights(whole)


def _numbers(whole: WholeGraph, product: str) -> Iterator[str]:
    """The trained scalar variables that are a factor of a product, unchanged, both factors being trained."""
    for place, tensor in enumerate(whole.graph.inputs(product)):
        name = variable_read(whole.graph, tensor.node)
        is_number = name in whole.trainable and whole.is_scalar(name)
        if is_number and all(gradient_flow(whole).passes_input(product, each) for each in (place, 1 - place)):
            yield name


def _vanishing_weights(whole: WholeGraph) -> Iterator[Hazard]:
    """Yields the hazard of terms that exp(-s) or 1 / s^2 multiplies, s being in no other term; one for all."""
    for target in minimized_targets(whole):
        signs = linear_signs(whole, target)
        leaves = [name for name in signs if not any(tensor.node in signs for tensor in whole.graph.inputs(name))]
        weighed = {name: found for name in leaves for found in [_vanishing(whole, name)] if found is not None}
        pushes = Pushes(whole, [target]) if weighed else None
        for name, (variable, term) in weighed.items():
            others = [leaf for leaf in leaves if leaf not in weighed and variable in _before(whole, leaf)]
            is_bounded_below = signs[name] > 0 and _is_not_negative(whole, term)
            if not is_bounded_below or not gradient_flow(whole).passes(name):
                continue
            pushed = (
                {pushes.sign(tensor) for tensor in _reads(whole, variable)} - {None} if others and pushes else set()
            )
            if len(pushed) == 1 and pushed & {1, -1} and all(variable_read(whole.graph, leaf) for leaf in others):
                falls = "rises" if -1 in pushed else "falls"
                yield Hazard(
                    "LOSS_WEIGHT_TRAINED",
                    name,
                    f"{name} weights a term of the loss by a function of {variable}, which is trained, and the other "
                    f"term of {variable} has the same direction: the loss falls without end where {variable} {falls}",
                    "add s to the loss that exp(-s) multiplies, the logarithm of a deviation; for parity keep it",
                )
                return
            if not others:
                yield Hazard(
                    "LOSS_WEIGHT_TRAINED",
                    name,
                    f"{name} weights a term of the loss by a function of {variable} alone, which is trained, and no "
                    "other term depends on that: the loss falls where the weight does, whatever the network computes",
                    "add s to the loss that exp(-s) multiplies, the logarithm of a deviation; for parity keep it",
                )
                return


def _reads(whole: WholeGraph, variable: str) -> list[TensorId]:
    """The first results of reads of a variable."""
    readers = [variable, *(use.node for use in whole.graph.users(variable))]
    return [TensorId(name, 0) for name in readers if variable_read(whole.graph, name) == variable]


def _vanishing(whole: WholeGraph, name: str) -> tuple[str, str] | None:
    """(the trained variable, the term that it weighs) of a product with exp(-s) or a quotient by s^2; else None."""
    graph, inputs = whole.graph, [tensor.node for tensor in whole.graph.inputs(name)]
    if len(inputs) != 2 or graph.type(name) not in op_types.SCALINGS:
        return None
    for factor, term in zip(inputs, reversed(inputs)) if graph.type(name) == "Mul" else [(inputs[1], inputs[0])]:
        variables = _before(whole, factor) & whole.trainable
        if len(variables) != 1 or factor in whole.data or term not in whole.data:
            continue
        is_quotient = graph.type(name) != "Mul"
        if _is_positive(whole, factor) or (is_quotient and _is_even(whole, factor)):
            return next(iter(variables)), term
    return None


def _is_positive(whole: WholeGraph, name: str) -> bool:
    """Whether a node is exp or softplus of a trained number, perhaps times a constant, or one over it or its square."""
    graph, inputs = whole.graph, [tensor.node for tensor in whole.graph.inputs(name)]
    kind = graph.type(name)
    if kind in op_types.QUOTIENTS and whole.value(inputs[0]) is not None:
        return _is_positive(whole, inputs[1]) or _is_even(whole, inputs[1])
    if kind == "Mul" and any((whole.value(node) or 0) > 0 for node in inputs):
        return any(_is_positive(whole, node) for node in inputs)
    return kind in _POSITIVE or (kind in _COPIES and bool(inputs) and _is_positive(whole, inputs[0]))


def _is_even(whole: WholeGraph, name: str) -> bool:
    """Whether a node is the square of a trained number, perhaps times a constant."""
    graph, inputs = whole.graph, [tensor.node for tensor in whole.graph.inputs(name)]
    if graph.type(name) == "Mul" and any((whole.value(node) or 0) > 0 for node in inputs):
        return any(_is_even(whole, node) for node in inputs)
    return graph.type(name) == "Square" or (graph.type(name) == "Pow" and whole.value(inputs[1]) == 2)


def _is_not_negative(whole: WholeGraph, term: str) -> bool:
    """Whether a term is a sum or mean of squares, cross entropies or negative logarithms of probabilities."""
    signs = linear_signs(whole, term)
    leaves = [name for name in signs if not any(tensor.node in signs for tensor in whole.graph.inputs(name))]
    entropies = {entropy.op for entropy in cross_entropies(whole) if not entropy.is_product}
    return all(
        (signs[name] > 0 and (whole.graph.type(name) in _NOT_NEGATIVE or name in entropies))
        or (signs[name] < 0 and whole.graph.type(name) in op_types.LOGARITHMS)
        for name in leaves
    )


def _before(whole: WholeGraph, name: str) -> set[str]:
    return whole.graph.ancestors([name], controls=False)
