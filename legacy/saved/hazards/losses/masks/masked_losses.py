"""Hazards of masked losses that are divided by all positions, or by the number of another tower's."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.folding.decided import COMPARISONS
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that answer a question about data.
ANSWERS = (*COMPARISONS, "LogicalAnd", "LogicalOr", "LogicalNot")
#: {comparison: the one that it negates}.
_NEGATIONS = {"NotEqual": "Equal", "LessEqual": "Greater", "GreaterEqual": "Less"}
#: Ops that compute a number of each element.
ELEMENTWISE = (*op_types.ARITHMETIC, "Neg", "Abs", "Square", "SquaredDifference", "Pow", "Select", "SelectV2")
_INTEGERS = (tf.int32.as_datatype_enum, tf.int64.as_datatype_enum)
#: Names of placeholders of masks.
_MASK = re.compile(r"(?i)(^|[/_])masks?(_ph|_placeholder)?(_\d+)?$")
ADVICE = "divide the sum by the sum of the mask, of all replicas; for parity keep the mean"


def masked_means(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds means of a product of the model's results and a mask of data; one hazard for all.

    Such a mean that is divided by another, of the mask, is one over the positions that the mask keeps. Beside a mean of
    what another mask keeps, all that this one leaves out, it is a part of a mean over all, as of a cross entropy.
    The mean by which a layer normalizes is subtracted from its own values, and makes no loss smaller.
    """
    means = [name for name in whole.minimized_ops("Mean") if not is_gradient_op(name)]
    masks = {name: _mask(whole, name) for name in means if not _is_subtracted_from_its_values(whole.graph, name)}
    questions = {question(whole, mask) for mask in masks.values() if mask}
    for name, mask in masks.items():
        if mask and opposite(question(whole, mask)) not in questions and not _is_divided_by(whole, name, mask):
            yield Hazard(
                "MASKED_MEAN",
                name,
                f"{name} is a mean over all positions, also over those that {mask} sets to 0: a batch with more of "
                "them has a smaller loss, and smaller gradients",
                ADVICE,
            )
            return


def _is_subtracted_from_its_values(graph: Graph, mean: str) -> bool:
    """Whether a mean is one by which its values are centered, as in the moments of a normalization."""
    values = graph.origin(graph.inputs(mean)[0])
    todo, seen = [mean], {mean}
    while todo:
        for user in {use.node for use in graph.users(todo.pop())} - seen:
            seen.add(user)
            if graph.type(user) in op_types.DIFFERENCES:
                if any(graph.origin(tensor) == values for tensor in graph.inputs(user)):
                    return True
            elif graph.type(user) in ("Identity", "StopGradient"):
                todo.append(user)
    return False


def sums_over_all_positions(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds sums of the model's results times a mask of data, divided by the number of all positions; one for all."""
    graph = whole.graph
    for name in [name for name in whole.minimized_ops(*op_types.QUOTIENTS) if not is_gradient_op(name)]:
        total, divisor = (graph.origin(tensor) for tensor in graph.inputs(name))
        mask = (
            _mask(whole, total.node) if graph.type(total.node) == "Sum" and total.node in found.cut.graph.nodes else ""
        )
        if mask and _counts_all(found, divisor, graph.inputs(total.node)[0]) and not _is_divided_by(whole, name, mask):
            yield Hazard(
                "MASKED_MEAN",
                name,
                f"{name} divides the sum {total.node} by the number of all positions, also of those that {mask} sets "
                "to 0: a batch with more of them has a smaller loss, and smaller gradients",
                ADVICE,
            )
            return


def _counts_all(found: Analysis, divisor: TensorId, values: TensorId) -> bool:
    """Whether a number is that of all positions of some values, of two dimensions or more.

    Args:
      found: the analysis.
      divisor: the number.
      values: what is added up.
    """
    graph, imported = found.cut.graph, found.context.imported
    shape = imported.shape(*values) if values.node in graph.nodes else None
    if shape is None or len(shape) < 2 or divisor.node not in graph.nodes:
        return False
    number = imported.constant(*divisor)
    if number is not None:
        sizes = [size for size in shape if size is not None]
        return len(sizes) == len(shape) and float(number) == float(np.prod(sizes)) > float(sizes[0])
    name = divisor.node
    while graph.type(name) in ("Cast", "Identity", "Prod"):
        name = graph.inputs(name)[0].node
    if graph.type(name) not in ("Size", "Shape"):
        return False
    sized = imported.shape(*graph.inputs(name)[0])
    return sized is not None and len(sized) == len(shape)


def counts_of_another_tower(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers whose loss is divided by the number of another tower's positions, as of its mask; one for all."""
    graph = whole.graph
    given, counted = {}, {}
    for name in [name for name in whole.minimized_ops(*op_types.QUOTIENTS) if name in whole.labels]:
        total, count = (tensor.node for tensor in graph.inputs(name))
        if (
            not is_gradient_op(name)
            and total in made_by_weights(whole)
            and count in whole.data - made_by_weights(whole)
        ):
            given[name], counted[name] = _parts_behind(whole, total), _parts_behind(whole, count)
    for name, parts in counted.items():
        for other in [other for other in given if whole.labels[other] != whole.labels[name]]:
            if parts and not parts & given[name] and parts == counted[other] and parts <= given[other]:
                yield Hazard(
                    "COUNT_OF_ANOTHER_TOWER",
                    name,
                    f"tower {whole.labels[name]} divides its loss by a number that is made of the examples of tower "
                    f"{whole.labels[other]}: {name} divides by {graph.inputs(name)[1].name}, as {other} does",
                    "divide by the number of the replica's own positions, or of all replicas'; for parity keep it",
                )
                return


def _parts_behind(whole: WholeGraph, name: str) -> set[TensorId]:
    """The tensors of examples that a node is computed from: sources, or parts that a batch is split into."""
    graph, todo, seen = whole.graph, [name], {name}
    found = set()
    while todo:
        for tensor in graph.inputs(todo.pop()):
            kind = graph.type(tensor.node)
            if tensor.node in whole.data and (op_types.is_source(kind) or kind in ("Split", "SplitV", "StridedSlice")):
                found.add(tensor)
            elif tensor.node in whole.data and tensor.node not in seen:
                seen.add(tensor.node)
                todo.append(tensor.node)
    return found


def _mask(whole: WholeGraph, mean: str) -> str:
    """The answer about data, as 0 and 1, that is a factor of what a mean takes; "" if there is none.

    Random numbers are no data: what dropout sets to 0 is scaled up elsewhere, and is as much in each batch.
    """
    return _mask_of(whole, mean, whole.graph.inputs(mean)[0])


def _mask_of(whole: WholeGraph, mean: str, values: TensorId) -> str:
    """The answer that is a factor of values, or of each of the terms that they are the sum of."""
    graph = whole.graph
    product = source_of_elements(graph, values).node
    if graph.type(product) in ("Neg", "Sub", *op_types.ADDITIONS):
        found = {_mask_of(whole, mean, term) for term in graph.inputs(product)}
        return found.pop() if len(found) == 1 else ""
    if graph.type(product) != "Mul":
        return ""
    for one, other in (graph.inputs(product), graph.inputs(product)[::-1]):
        if _is_along_new_axes(graph, mean, one):
            continue
        answer = source_of_elements(graph, one).node
        made = graph.ancestors([answer], controls=False)
        is_drawn = any(op_types.is_random(graph.type(one)) for one in made)
        if is_answer(whole, answer) and answer in whole.data and not made & whole.trainable and not is_drawn:
            return answer if graph.ancestors([other.node], controls=False) & whole.trainable else ""
    return ""


def _is_along_new_axes(graph: Graph, mean: str, factor: TensorId) -> bool:
    """Whether a mean runs along axes that a factor was given to be multiplied, as the features of masked positions."""
    axes = constant_array(graph, graph.inputs(mean)[1].node)
    given: set[int] = set()
    while graph.type(factor.node) in ("ExpandDims", "Cast", "Identity"):
        if graph.type(factor.node) == "ExpandDims":
            axis = constant_array(graph, graph.inputs(factor.node)[1].node)
            given |= set() if axis is None else {int(axis.ravel()[0])}
        factor = graph.inputs(factor.node)[0]
    return axes is not None and axes.size > 0 and set(axes.ravel().tolist()) <= given


def is_answer(whole: WholeGraph, name: str) -> bool:
    """Returns whether a node answers a question about data, or is 1 less an answer, or the sign of whole numbers."""
    graph = whole.graph
    if graph.type(name) == "Sub" and whole.value(graph.inputs(name)[0].node) == 1:
        name = source_of_elements(graph, graph.inputs(name)[1]).node
    if graph.type(name) != "Sign":
        return graph.type(name) in ANSWERS or _is_fed_mask(graph, name)
    before = graph.inputs(name)[0].node
    attributes = graph.nodes[before].attr
    return (attributes["SrcT"].type if graph.type(before) == "Cast" else graph.nodes[name].attr["T"].type) in _INTEGERS


def _is_fed_mask(graph: Graph, name: str) -> bool:
    """Whether a node is a placeholder that is called a mask of rows or of their times, or a tower's part of one.

    One of the pixels of images may cut a hole, as for inpainting, whose size is to count.
    """
    while graph.type(name) in ("Split", "StridedSlice"):
        name = source_of_elements(graph, graph.inputs(name)[op_types.divided_input(graph.type(name))]).node
    attributes = graph.nodes[name].attr
    recorded = attributes["_output_shapes"].list.shape
    rank = len((recorded[0] if recorded else attributes["shape"].shape).dim)
    return graph.type(name).startswith("Placeholder") and bool(_MASK.search(name)) and rank in (1, 2)


def question(whole: WholeGraph, answer: str) -> tuple[object, bool]:
    """Returns the node, or comparison of two tensors, that an answer is about, and whether yes is where that holds."""
    graph, is_yes = whole.graph, True
    while graph.type(answer) in ("Sub", "LogicalNot"):
        answer, is_yes = source_of_elements(graph, graph.inputs(answer)[-1]).node, not is_yes
    kind = graph.type(answer)
    if kind not in {*_NEGATIONS, *_NEGATIONS.values()}:
        return answer, is_yes
    sides = [graph.origin(tensor) for tensor in graph.inputs(answer)]
    compared = tuple(side if whole.value(side.node) is None else whole.value(side.node) for side in sides)
    return (_NEGATIONS.get(kind, kind), compared), is_yes != (kind in _NEGATIONS)


def opposite(asked: tuple[object, bool]) -> tuple[object, bool]:
    """Returns the question that is answered yes where another one is answered no."""
    return asked[0], not asked[1]


def _is_divided_by(whole: WholeGraph, mean: str, mask: str) -> bool:
    """Whether a value computed from a mean is divided, or scaled, by one computed from a mask."""
    after = whole.graph.descendants([mask], controls=False)
    for name in whole.graph.descendants([mean], controls=False):
        if whole.graph.type(name) in op_types.SCALINGS and not is_gradient_op(name):
            inputs = [tensor.node for tensor in whole.graph.inputs(name)]
            own = whole.graph.ancestors(inputs[1:], controls=False)
            if inputs[1:] and inputs[1] in after and mean not in own:
                return True
    return False
