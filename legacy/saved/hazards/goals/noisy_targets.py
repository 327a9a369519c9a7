"""Hazard of a denoising loss whose target is the noisy example that the network gets, and not the clean one."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.folding.decided import COMPARISONS
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import hands_elements_on, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_source
from legacy.saved.hazards.basics.squares import is_error
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops by which noise is added to values, or by which a mask takes some of them away.
_CHANGES = ("Add", "AddV2", "Sub", "Mul", "Select", "SelectV2", "Maximum", "Minimum", "ClipByValue", "Identity")
_DECISIONS = (*COMPARISONS, "Floor")
_NORMAL = ("RandomStandardNormal", "TruncatedNormal")
_DRAWS = (*_NORMAL, "RandomUniform")
#: Fewer random numbers of an example may be one for each channel, and are no noise of each element.
LEAST_NUMBERS = 4


def noisy_targets(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds errors of results from the noisy data of which they are computed; one hazard for all.

    Noise is normal numbers that are added, or a random mask, each of its own for all elements. Uniform numbers that are
    added to whole numbers may spread them on purpose.
    """
    for name, result, target in _compared(whole):
        noisy = source_of_elements(whole.graph, target).node
        if noisy in made_by_weights(whole) or noisy not in whole.data or result.node not in made_by_weights(whole):
            continue
        draw = _noise(whole, noisy)
        if draw and _is_read(whole, noisy, result.node) and not _is_of_known(whole, name, result.node, draw):
            yield Hazard(
                "TARGET_IS_NOISY",
                name,
                f"{name} compares {result.node} with {noisy}, data that {draw} has made noisy and the network "
                "reads: it is trained to reproduce the noise, and not to remove it",
                "compare with the data before the noise; for parity keep it",
            )
            return


def _compared(whole: WholeGraph) -> Iterator[tuple[str, TensorId, TensorId]]:
    """Yields (op, result, target) of differences and of cross entropies of a sigmoid."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops("Sub", "SquaredDifference") if not is_gradient_op(name)]:
        first, second = graph.inputs(name)[:2]
        if is_error(whole, name):
            yield name, first, second
            yield name, second, first
    for entropy in [entropy for entropy in cross_entropies(whole) if entropy.is_sigmoid]:
        yield entropy.op, entropy.logits, entropy.labels


def _is_read(whole: WholeGraph, noisy: str, result: str) -> bool:
    """Whether a layer of which results are computed takes noisy data as they are.

    A further mask may hide what the network is to tell from the rest, as in Noise2Void.
    """
    graph, todo, seen = whole.graph, [noisy], {noisy}
    before = graph.ancestors([result], controls=False)
    while todo:
        for user in [use.node for use in graph.users(todo.pop()) if use.node in before and use.node not in seen]:
            if user in made_by_weights(whole):
                return True
            seen.add(user)
            if hands_elements_on(graph, user) or linear_source(whole, user)[0] != user:
                todo.append(user)
    return False


def _is_of_known(whole: WholeGraph, difference: str, result: str, draw: str) -> bool:
    """Whether a random mask also multiplies the results, or their errors, so that the loss sees only what it keeps.

    So networks are trained that fill in what a mask has taken away.
    """
    graph = whole.graph
    products = [name for name in (result, *(use.node for use in graph.users(difference))) if graph.type(name) == "Mul"]
    factors = {tensor.node for name in products for tensor in graph.inputs(name)} - made_by_weights(whole)
    return draw in graph.ancestors(factors, controls=False)


def _noise(whole: WholeGraph, name: str) -> str:
    """The random op by which each element of data is changed; "" of data that none changes so."""
    graph, todo, seen = whole.graph, [name], {name}
    while todo:
        node = todo.pop()
        for tensor in graph.inputs(node) if graph.type(node) in _CHANGES else []:
            before = source_of_elements(graph, tensor).node
            drawn = _drawn(whole, before)
            if drawn:
                return drawn
            if before not in seen and before in whole.data:
                seen.add(before)
                todo.append(before)
    return ""


def _drawn(whole: WholeGraph, name: str) -> str:
    """The random op of noise, or of the mask, that a node is; "" of any other node."""
    graph = whole.graph
    name = linear_source(whole, name)[0]
    kinds: tuple[str, ...] = _NORMAL
    if graph.type(name) in _DECISIONS:
        kinds = _DRAWS
        sides = [linear_source(whole, tensor.node)[0] for tensor in graph.inputs(name)]
        sides += [
            tensor.node for side in sides if graph.type(side) in op_types.SUMS_OF_TWO for tensor in graph.inputs(side)
        ]
        sides = [linear_source(whole, side)[0] for side in sides]
        if any(side in whole.data and not whole.is_scalar(side) for side in sides if graph.type(side) not in kinds):
            return ""  # a draw with the probabilities that data give
        name = next((side for side in sides if graph.type(side) in kinds), "")
    if not name or graph.type(name) not in kinds:
        return ""
    return name if _is_of_each_element(whole, graph.inputs(name)[0].node) else ""


def _is_of_each_element(whole: WholeGraph, shape: str) -> bool:
    """Whether random numbers of a shape are many for each example, and no flips or shades of whole examples."""
    shape = source_of_elements(whole.graph, TensorId(shape, 0)).node
    sizes = constant_array(whole.graph, shape)
    return whole.graph.type(shape) == "Shape" if sizes is None else int(sizes.ravel()[1:].prod()) >= LEAST_NUMBERS
