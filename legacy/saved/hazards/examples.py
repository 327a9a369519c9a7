"""Hazards of examples: sums divided by another number than a tower's examples, and examples that towers share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.loss_scale import SQUARES
from legacy.saved.analysis.reduction.growth import Growth
from legacy.saved.analysis.reduction.multipliers import multiplier_of_mean
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.whole_graph import WholeGraph, ancestors_of_tensors, scalar_constant
from legacy.saved.facts.inputs.chosen_positions import is_of_chosen_positions
from legacy.saved.facts.inputs.free_rows import has_rows_of_its_own, is_numbers_beside_parts
from legacy.saved.facts.inputs.tower_batch import usual_batch
from legacy.saved.graph import op_types
from legacy.saved.graph.imported import ImportedGraph
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_inputs, linear_weights
from legacy.saved.hazards.basics.squares import adds_deviations
from legacy.saved.inputs.description import is_only_measured, is_trained_on
from legacy.saved.inputs.parts import is_indexed, split_dimension
from legacy.saved.inputs.tables import is_table
from legacy.saved.tower_search.towers import taker_alone
from workloads.lifted.graph import Graph, TensorId, parse_tensor_name
from workloads.lifted.plan import Combine, Input
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: A larger divisor is no number of examples, but one of elements, as of features and pixels.
MOST_EXAMPLES = 1 << 16
#: Relative difference within which a divisor is an integer: it is stored as a float32, or as its reciprocal.
INTEGER_TOLERANCE = 1e-4
_ADVICE = "tf.nn.compute_average_loss with the global batch, and reduce with SUM"


def batch_constants(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds sums over examples in the loss that are divided by a constant other than a tower's number of examples."""
    plan, graph, imported = found.plan, found.cut.graph, found.context.imported
    summed = not any(_is_mean(found, combine) for phase in plan.phases for combine in phase.combine)
    for loss in [loss for phase in plan.phases for loss in phase.losses[:1]]:
        for name in ancestors_of_tensors(graph, [loss]):
            divisor, total = _divisor_of_sum(whole, found, name) or (0, "")
            counts, is_flat = _counts_of_examples(found, total) if divisor else (set(), False)
            of_all_towers = {n * plan.towers for n in counts}
            is_flat |= plan.batch is None and 0 not in counts and all(divisor % n == 0 for n in counts)
            if not counts or divisor in counts or (summed and divisor in of_all_towers):
                continue
            first, further = divisor, _divided_further(whole, graph, name)
            is_halved = 2 in (first, further) and further > 1 and _are_squares(graph, total)
            divisor = first * further // (2 if is_halved else 1)
            if divisor in counts or divisor > MOST_EXAMPLES:
                continue
            if divisor + 1 in counts and adds_deviations(whole, total):
                continue  # a variance without bias
            is_of_terms = all(_behind_copies(graph, imported, tensor.node) != total for tensor in graph.inputs(name))
            is_weight = graph.type(name) == "Mul" or is_flat or is_of_terms or graph.type(total) == "L2Loss"
            if is_weight and divisor not in of_all_towers:
                continue  # the weight of a term; a number of elements of each example, such as times, or of terms
            if divisor not in of_all_towers and (is_of_chosen_positions(found, total) or _is_of_runs(found, divisor)):
                continue
            is_half = not is_halved and _are_squares(graph, total) and (divisor == 2 or divisor / 2 in counts)
            if divisor in _numbers_of_elements(found, total) or (is_half and divisor not in of_all_towers):
                continue
            if divisor in _sizes_of_an_example(found) and divisor not in of_all_towers:
                continue  # such as the number of an image's pixels: a mean over these, and a sum over examples
            text = _divided_text(divisor, plan.batch, plan.towers)
            text += ", unless that is twice its own, for half of the squares" if is_half else ""
            yield Hazard("BATCH_SIZE_CONSTANT", name, text, _ADVICE)


def _is_of_runs(found: Analysis, divisor: int) -> bool:
    """Whether a divisor may count the examples of several runs, whose gradients are added up before an update."""
    plan = found.plan
    return bool(found.context.accumulators) and (plan.batch is None or divisor % (plan.batch * plan.towers) == 0)


def _is_mean(found: Analysis, combine: Combine) -> bool:
    """Whether gradients are averaged over towers, also where a constant, such as a learning rate, multiplies them."""
    if combine.kind == "sum":
        return multiplier_of_mean(found.cut.graph, found.context.imported, combine, found.plan.towers) is not None
    return combine.kind != "concat"


def _divided_further(whole: WholeGraph, graph: Graph, name: str) -> int:
    """The product of the constants by which a quotient is divided again, as in `sum / height / width`."""
    users = [use.node for use in graph.users(name) if not is_gradient_op(use.node)]
    if len(users) != 1 or graph.type(users[0]) not in op_types.DIVISIONS or graph.inputs(users[0])[0].node != name:
        return 1
    value = whole.value(graph.inputs(users[0])[1].node)
    is_integer = value is not None and value > 1 and float(value).is_integer()
    return round(value) * _divided_further(whole, graph, users[0]) if value is not None and is_integer else 1


def _sizes_of_an_example(found: Analysis) -> set[int]:
    """The numbers of elements of one example, of any input; of an image also the number of its pixels."""
    shapes = [entry.shape[1:] for entry in found.plan.inputs if entry.kind == "batch" and entry.shape]
    known = [[int(size) for size in shape if size is not None] for shape in shapes if all(shape)]
    return {int(np.prod(shape)) for shape in known} | {int(np.prod(shape[:2])) for shape in known if len(shape) == 3}


def _counts_of_examples(found: Analysis, total: str) -> tuple[set[int], bool]:
    """The divisors that turn a sum over a tower's examples into a mean; {0} for an open batch, none for another sum.

    A sum over examples and their elements may be divided by the number of examples or of elements; one of an open batch
    by that of the program's own slices or dataset. The second value is whether rows of examples are joined in one
    dimension, as the words of sentences are.
    """
    graph, imported, batch = found.cut.graph, found.context.imported, found.plan.batch
    inputs = graph.inputs(total)
    shape = imported.shape(*inputs[0])
    is_flat = bool(batch and shape and shape[0] and shape[0] != batch and shape[0] % batch == 0)
    if inputs[0].node not in found.context.data or not shape or (shape[0] != batch and not is_flat):
        return set(), False
    reduced = _reduced(found, total, len(shape))
    growth = Growth(graph, imported, found.context.data, batch)
    if 0 not in reduced or (imported.shape(total) == () and growth.power(TensorId(total, 0)) != 1):
        return set(), False
    batch = batch or usual_batch(AnalysedStep(found))
    if batch is None:
        return {0}, False
    dealt = [entry.shape for entry in found.plan.inputs if entry.shape and len(set(entry.tensors)) == found.plan.towers]
    rows = shape[0] or batch
    counts = {batch, rows} | {own[0] for own in dealt if own[0] and rows % own[0] == 0}  # words, dealt beside sentences
    if len(shape) == 2 and rows == shape[1] and len(reduced) == 2:  # of pairs of examples
        counts |= {rows * (rows - 1), rows * (rows - 1) // 2} - {0}
    for axis in sorted(reduced - {0}):
        counts |= {count * (shape[axis] or 1) for count in counts}
    return counts, is_flat


def _numbers_of_elements(found: Analysis, total: str) -> set[int]:
    """Numbers of elements that a sum over examples adds up of each, along some of its dimensions: a mean over these."""
    shape = found.context.imported.shape(*found.cut.graph.inputs(total)[0]) or ()
    sizes = [shape[axis] or 1 for axis in sorted(_reduced(found, total, len(shape)) - {0})]
    least = min(2, len(sizes))  # one size of several might be that of a batch
    chosen = [row for count in range(least, len(sizes) + 1) for row in itertools.combinations(sizes, count)]
    return {int(np.prod(row)) for row in chosen} - {1}


def _reduced(found: Analysis, total: str, rank: int) -> set[int]:
    """The dimensions that a sum reduces."""
    inputs = found.cut.graph.inputs(total)
    axes = found.context.imported.constant(*inputs[1]) if len(inputs) > 1 else None
    return set(range(rank)) if axes is None else {int(axis) % rank for axis in np.ravel(axes)}


def _are_squares(graph: Graph, total: str) -> bool:
    """Whether a sum is of squares, half of which is usual: sum((p - y) ** 2) / (2 * n)."""
    name = source_of_elements(graph, graph.inputs(total)[0]).node
    inputs = [source_of_elements(graph, tensor) for tensor in graph.inputs(name)] if graph.type(name) == "Mul" else []
    kinds = {graph.type(tensor.node) for tensor in inputs} | {graph.type(name)}  # a mask may multiply the squares
    return graph.type(total) == "L2Loss" or bool(kinds & set(SQUARES)) or (len(inputs) == 2 and inputs[0] == inputs[1])


def _divided_text(divisor: int, batch: int | None, towers: int) -> str:
    if batch is None:
        return f"a sum over examples is divided by {divisor:g}, and the inputs take any batch"
    if divisor == batch * towers:
        return f"a sum over a tower's {batch} examples is divided by all towers' {divisor:g}"
    return f"a sum over a tower's {batch} examples is divided by {divisor:g}"


def _divisor_of_sum(whole: WholeGraph, found: Analysis, name: str) -> tuple[int, str] | None:
    """(c > 1, the Sum) of a forward node `Sum(...) / c` or `Sum(...) * (1 / c)`; None for any other node."""
    graph, imported = found.cut.graph, found.context.imported  # with placeholders that the whole graph lacks
    if graph.type(name) not in ("RealDiv", "Div", "Mul") or is_gradient_op(name):
        return None
    values = [(whole.value(p), i) for i, (p, _) in enumerate(graph.inputs(name)) if p in whole.graph.nodes]
    constants = [(value, i) for value, i in values if value is not None]
    if len(constants) != 1 or not constants[0][0]:
        return None
    value, position = constants[0]
    other = _behind_copies(graph, imported, graph.inputs(name)[1 - position].node)
    divisor = value if graph.type(name) != "Mul" else 1.0 / value
    is_integer = divisor > 1 and abs(divisor - round(divisor)) < INTEGER_TOLERANCE * divisor
    if graph.type(name) != "Mul" and graph.type(other) in op_types.ADDITIONS and other in whole.graph.nodes:
        other = _sum_of_terms(whole, other)
    return (round(divisor), other) if other and graph.type(other) in ("Sum", "L2Loss") and is_integer else None


def _behind_copies(graph: Graph, imported: ImportedGraph, name: str) -> str:
    """The node that a node is a copy of, perhaps with the other sign, as of a cross entropy by hand.

    A sum of one number is one, too, as where `reduce_sum` takes a loss, or `add_n` a list of one term.
    """
    while graph.type(name) in ("Identity", "Neg") or _is_of_one_number(graph, imported, name):
        name = graph.inputs(name)[0].node
    return name


def _is_of_one_number(graph: Graph, imported: ImportedGraph, name: str) -> bool:
    """Whether a node adds up, or averages, one number alone."""
    kind, inputs = graph.type(name), graph.inputs(name)
    is_reduced = kind in op_types.REDUCTIONS and imported.shape(*inputs[0]) == ()
    return is_reduced or (kind in op_types.ADDITIONS and len(inputs) == 1)


def _sum_of_terms(whole: WholeGraph, name: str) -> str:
    """The first term of a sum of terms with constant weights that are Sum ops; "" if one of them is none."""
    leaves = [node for node in linear_weights(whole, name) if not any(linear_inputs(whole, node))]
    return leaves[-1] if leaves and all(whole.graph.type(node) in ("Sum", "L2Loss") for node in leaves) else ""


def same_batch(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds towers that all get the same examples, or the same of one input beside different ones of another."""
    towers, inputs = found.plan.towers, found.plan.inputs
    same = [entry for entry in inputs if entry.is_shared and _holds_examples(found, entry)]
    same = [entry for entry in same if is_trained_on(found.cut.graph, found.plan.phases, entry)]
    same = [entry for entry in same if taker_alone(found.cut.graph, found.context.towers, entry) is None]
    same = [entry for entry in same if not has_rows_of_its_own(found, entry)]
    same = [entry for entry in same if not is_numbers_beside_parts(found, entry)]
    # Where each tower differentiates the losses of all, it takes all parts of a batch.
    dealt = [_dealt_by(found, entry) for entry in same]
    same = [entry for entry, split in zip(same, dealt) if not split or dealt.count(split) < 2]
    own = [entry for entry in inputs if entry.kind == "batch" and len(set(entry.tensors)) == len(entry.tensors)]
    if towers < 2 or not same:
        return
    advice = "distribute one global dataset, or shard by the replica's number; parity needs the same batch on each"
    names = ", ".join(entry.name for entry in same)
    if own:
        others = ", ".join(entry.name for entry in own)
        text = f"{names}: all {towers} towers get the same rows; {others}: each tower gets its own"
        axis = _axis_of_parts(found, own[0])
        if axis:
            text = f"{names}: all {towers} towers get the same rows; {others} is split along dimension {axis}: each "
            text += "tower gets a part of each example, such as some of its features"
    elif found.plan.noise:
        text = f"all {towers} towers get the same batch, for which each draws random numbers of its own"
    else:
        text = f"all {towers} towers get the same batch: {towers} times the work for one batch's gradient"
    yield Hazard("SAME_BATCH", same[0].name, text, advice)


def _axis_of_parts(found: Analysis, entry: Input) -> int:
    """The dimension along which an op splits an input for the towers; 0 for that of the examples, or none."""
    node = parse_tensor_name(entry.tensors[0]).node
    return split_dimension(found.cut.graph, found.context.imported, node) if node in found.cut.graph.nodes else 0


def _dealt_by(found: Analysis, entry: Input) -> str:
    """The op that splits a batch along its examples, of which an input is a part; "" for any other input."""
    graph, node = found.cut.graph, parse_tensor_name(entry.tensors[0]).node
    kind = graph.type(node) if node in graph.nodes else ""
    if kind not in op_types.SPLITS:
        return ""
    axis = graph.inputs(node)[0 if kind == "Split" else 2].node
    return node if scalar_constant(graph.nodes[axis]) == 0 else ""


def _holds_examples(found: Analysis, entry: Input) -> bool:
    """Whether an input has a row for each example: as many as the batch of a tower or of all, or any number.

    So has one with a batch for each tower, of which equal towers take the same one.
    """
    tensor = parse_tensor_name(entry.tensors[0])
    graph = found.cut.graph
    parts = {parse_tensor_name(name).node for other in found.plan.inputs for name in other.tensors}
    if is_only_measured(graph, tensor, parts) or is_table(graph, found.context.imported, tensor):
        return False
    if len(entry.shape or []) == 1 and is_indexed(graph, found.context.imported, tensor):
        return False  # numbers, each with a place and a meaning of its own, such as the shares that dropout keeps
    rows = entry.shape[0] if entry.shape else 0
    own = [other for other in found.plan.inputs if other.kind == "batch"]
    if not own:
        return entry.kind == "same batch" or bool(entry.sparse)
    batch, towers = found.plan.batch, found.plan.towers
    if batch is None:
        return rows is None
    of_each = not found.plan.differences and list(entry.shape or [])[:2] == [towers, batch]
    return rows in (batch, batch * towers) or of_each
