"""Hazard of a nearest code that a decoder takes without a straight-through estimate, as in a lost line of a VQ-VAE."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import hands_elements_on, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.squares import squared
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op

_SHAPES = ("Shape", "ShapeN", "Size", "Rank")


def codes_without_gradient(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds nearest codes that layers take, whose encodings only choose them and come close to them; one for all.

    An encoding that a loss takes in another way, too, as in z + stop_gradient(code - z), has a gradient of it; so has
    one that the program differentiates itself.
    """
    graph = whole.graph
    for choice in whole.minimized_ops("ArgMin", "ArgMax"):
        for code in _codes_of(whole, choice):
            uses = _uses(whole, code)
            compared = {name for name in uses if graph.type(name) in op_types.DIFFERENCES}
            encodings = {side for name in compared for side in _sides(whole, name)} - _elements(whole, code)
            encodings = {one for one in encodings if one in graph.ancestors([choice], controls=False)}
            others = sorted(uses - compared - graph.ancestors([choice], controls=False))
            if others and len(encodings) == 1 and _is_only_compared(whole, encodings.copy().pop(), choice, compared):
                yield Hazard(
                    "CODES_WITHOUT_GRADIENT",
                    code,
                    f"{others[0]} takes {code}, the nearest code that {choice} chose, and no loss takes the encodings "
                    f"{encodings.pop()} but to come near to it: no gradient of what is made of the codes passes to "
                    "the layers that encode",
                    "take z + tf.stop_gradient(code - z) in its place; for parity keep it",
                )
                return


def _codes_of(whole: WholeGraph, choice: str) -> list[str]:
    """The lookups of rows that a choice numbers, in the table whose squared distances it is a choice of."""
    graph, before = whole.graph, whole.graph.ancestors([choice], controls=False)
    squares = {name for name in before if name in whole.minimized and squared(whole, name) is not None}
    squares |= {name for name in before if graph.type(name) == "SquaredDifference"}
    tables = {table for name in squares for table in _squared_tables(whole, name)}
    found = []
    for name in sorted(_elements(whole, choice)):
        for use in graph.users(name):
            table = _table(whole, use.node) if use.node in whole.minimized else ""
            if table in tables:
                found.append(use.node)
    return found


def _squared_tables(whole: WholeGraph, square: str) -> set[str]:
    """The trained variables that a node squares, or of whose difference from something it has the square."""
    graph, base = whole.graph, squared(whole, square)
    terms = [*graph.inputs(square)] if base is None else [base]
    terms += [side for term in terms if graph.type(term.node) == "Sub" for side in graph.inputs(term.node)]
    return {variable_read(graph, source_of_elements(graph, term).node) for term in terms} & whole.trainable


def _table(whole: WholeGraph, name: str) -> str:
    """The trained variable, perhaps transposed, whose rows a lookup gives; "" of any other node."""
    graph = whole.graph
    if graph.type(name) not in op_types.LOOKUPS or is_gradient_op(name):
        return ""
    return variable_read(graph, source_of_elements(graph, graph.inputs(name)[0]).node) or ""


def _is_only_compared(whole: WholeGraph, encoding: str, choice: str, compared: set[str]) -> bool:
    """Whether encodings that weights make choose codes and are compared with them, and nothing else takes them."""
    chooses = whole.graph.ancestors([choice], controls=False)
    is_target = bool(_elements(whole, encoding) & set(whole.targets))
    return encoding in made_by_weights(whole) and not is_target and _uses(whole, encoding) <= chooses | compared


def _sides(whole: WholeGraph, name: str) -> set[str]:
    return {source_of_elements(whole.graph, tensor).node for tensor in whole.graph.inputs(name)}


def _elements(whole: WholeGraph, name: str) -> set[str]:
    """A node, and those of what is minimized that hand its elements on."""
    todo, seen = [name], {name}
    while todo:
        for use in whole.graph.users(todo.pop()):
            is_first = use.position == 0 and use.node not in seen and use.node in whole.minimized
            if is_first and hands_elements_on(whole.graph, use.node) and not is_gradient_op(use.node):
                seen.add(use.node)
                todo.append(use.node)
    return seen


def _uses(whole: WholeGraph, name: str) -> set[str]:
    """The nodes of what is minimized that take the elements of a node, and not their shape alone."""
    graph, elements = whole.graph, _elements(whole, name)
    uses = {use.node for one in elements for use in graph.users(one) if use.node in whole.minimized} - elements
    return {use for use in uses if graph.type(use) not in _SHAPES and not is_gradient_op(use)}
