"""Hazard of a sum of errors that is divided by the count of a mask by which they are not multiplied."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.folding.decided import COMPARISONS
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import counted_elements, made_by_weights
from legacy.saved.hazards.signs.opposed_labels import weighed
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_ANSWERS = (*COMPARISONS, "LogicalAnd", "LogicalOr", "LogicalNot")
#: Ops that compute errors position by position, or add them up.
_BY_POSITION = (
    *("Sum", "Mul", "Add", "AddV2", "Sub", "Square", "SquaredDifference", "Abs", "Neg", "Sqrt", "Pow", "Minimum"),
    *("Maximum", "Select", "SelectV2", "Cast", "Identity", "Reshape", "ExpandDims", "Squeeze", "Less", "LessEqual"),
)


def counts_of_other_masks(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds sums of errors against data, divided by the count of a mask of other data; one hazard for all.

    A mask that weighs or chooses other errors of the loss counts objects on purpose, by which the errors of all
    positions are divided, too, as those of all anchors by the number of the positive ones.
    """
    graph = whole.graph
    for name in [name for name in whole.minimized_ops(*op_types.QUOTIENTS) if not is_gradient_op(name)]:
        total, mask = graph.origin(graph.inputs(name)[0]).node, _counted(whole, graph.inputs(name)[1].node)
        if not mask or graph.type(total) != "Sum" or mask in graph.ancestors([total], controls=False):
            continue
        errors, given = _computed_by_position(whole, total)
        masks = [node for node in given if graph.type(source_of_elements(graph, TensorId(node, 0)).node) in _ANSWERS]
        counted = _sources(whole, [mask])
        others = _sources(whole, masks) if masks else _sources(whole, given)
        if not errors or not given or counted & others or (masks and len(masks) != 1):
            continue
        if _weighs(whole, counted):
            continue
        what = f"multiplied by {masks[0]}" if masks else "multiplied by no mask"
        yield Hazard(
            "COUNT_OF_ANOTHER_MASK",
            name,
            f"{name} divides {total}, a sum of errors {what}, by the number of positions that {mask} keeps: errors of "
            f"others count, or those of other positions are missing{', unless it counts more on purpose' * len(masks)}",
            "multiply the errors by the mask that is counted; for parity keep it",
        )
        return


def _weighs(whole: WholeGraph, sources: set[str]) -> bool:
    """Whether an answer about some sources multiplies what weights compute, or chooses rows of it."""
    graph = whole.graph
    answers = [name for name in graph.of_types(*_ANSWERS) if name in whole.minimized]
    for answer in [one for one in answers if one in whole.data and _sources(whole, [one]) == sources]:
        places = [node for node in graph.descendants([answer], controls=False) if graph.type(node) == "Where"]
        chosen = graph.descendants(places, controls=False) & whole.minimized if places else set()
        takers = [node for node in chosen if graph.type(node).startswith("Gather") and not is_gradient_op(node)]
        if weighed(whole, answer) or any(node in made_by_weights(whole) for node in takers):
            return True
    return False


def _counted(whole: WholeGraph, name: str) -> str:
    """The answer of data whose trues a node counts, perhaps at least 1; "" if it is no such count."""
    answer = counted_elements(whole, name)
    is_given = answer in whole.data and answer not in made_by_weights(whole)
    return answer if is_given and whole.graph.type(answer) in _ANSWERS else ""


def _computed_by_position(whole: WholeGraph, total: str) -> tuple[bool, list[str]]:
    """(Whether a sum is of differences of results and data, the nodes of data alone that it is computed from)."""
    graph, todo, seen, errors = whole.graph, [total], {total}, False
    given: list[str] = []
    while todo:
        name = todo.pop()
        inputs = [tensor.node for tensor in graph.inputs(name)]
        trained = [before in made_by_weights(whole) for before in inputs]
        errors |= graph.type(name) in op_types.DIFFERENCES and sorted(trained) == [False, True]
        for before, is_trained in zip(inputs, trained):
            if not is_trained and before in whole.data:
                given.append(before)
            elif is_trained and before not in seen and graph.type(before) in _BY_POSITION:
                seen.add(before)
                todo.append(before)
    return errors, given


def _sources(whole: WholeGraph, names: list[str]) -> set[str]:
    before = whole.graph.ancestors(names, controls=False)
    return {node for node in before if op_types.is_source(whole.graph.type(node))}
