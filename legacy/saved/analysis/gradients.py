"""The gradients of one train op: each tower's, before and after clipping, and how the update combines them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from legacy.saved.analysis.context import Context
from legacy.saved.analysis.reduction.means_of_one import is_mean_of_one
from legacy.saved.analysis.reduction.meeting_tensors import nearest_tensors
from legacy.saved.analysis.reduction.reduction_probe import ReductionProbe
from legacy.saved.graph import op_types
from workloads.lifted.graph import SWITCHES, Graph, TensorId, made_dense, parse_tensor_name, tensor_name
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.plan import Combine, Effect, indices_label, part_label
from workloads.lifted.tensors.gradient_names import GRADIENTS

if TYPE_CHECKING:
    from legacy.saved.analysis.phase_parts import PhaseParts

#: Ops that add rows to rows of a tensor.
ROW_ADDITIONS = ("UnsortedSegmentSum", "ScatterAdd", "ResourceScatterAdd")


def probe_gradients(context: Context, phase: PhaseParts, cutter: Cutter) -> tuple[list[Combine], list[dict[str, str]]]:
    """Finds each tower's gradients, and how they are combined into what the update rules take.

    Args:
      context: of the subgraph that a step runs.
      phase: the train op.
      cutter: takes functions out of the graph, for the reduction probe.

    Returns:
      One `Combine` for each input of an update rule that the towers make, and for each tower {label: name of its
      gradient}; a label is the variable, with " (indices)" for the rows of a sparse gradient, and with " (part k)" if
      several tensors of a tower are combined.
    """
    nodes, count = phase.divided.tower_nodes, context.towers.count
    probe = ReductionProbe(context.graph, context.imported, cutter, nodes)
    combines: list[Combine] = []
    gradients: list[dict[str, str]] = [{} for _ in range(count)]
    for effect in phase.effects:
        shape = context.state.variables[effect.writes[0]].shape
        inputs = _update_inputs(context, effect, nodes)
        for label, value in inputs:
            target = parse_tensor_name(value)
            is_similar = _similar_to(context, target, shape if len(inputs) == 1 else None)
            parts = nearest_tensors(context.graph, target, nodes, is_similar, count)
            if not any(parts):
                continue
            if count == 1 and len(parts[0]) == 1 and not _is_mean_of_one(context, target):
                target = parts[0][0]  # what the update makes of it is made of the replicas' gradients together
            found = probe.recognise(label, target, parts, shape)
            are_rows = len(inputs) > 1 or _are_rows(context, target, parse_tensor_name(value), shape)
            if count == 1 and are_rows and found.kind == "sum":
                found.kind = "concat"  # one tower does not tell, and neither rows nor their indices are added up
            elif count == 1 and found.kind == "sum" and found.scale == 1 and _is_mean_of_one(context, target):
                found.kind = "mean"
            taken = parse_tensor_name(value)
            indices = rows_behind(context.graph, taken, found, nodes, count) if len(inputs) == 1 else None
            if indices is not None:
                own = nearest_tensors(context.graph, indices, nodes, _similar_to(context, indices), count)
                if all(own):
                    inputs.append((indices_label(label), indices.name))
                else:  # they follow from the sizes of the towers' inputs, and so are computed outside of the towers
                    found = Combine(label, "kept as written", value, 1.0, found.parts)
            combines.append(found)
            for tower, tensors in enumerate(parts):
                gradients[tower].update(_labelled(label, tensors))
    return combines, gradients


def _are_rows(context: Context, gradient: TensorId, used: TensorId, of_variable: Sequence[int | None] | None) -> bool:
    """Returns whether a gradient is one of rows of a variable: of another number, or added to rows on the way.

    An Adam of rows of TensorFlow 0.12 adds them to rows of its moments; later ones add up equal rows first.

    Args:
      context: the subgraph that a step runs.
      gradient: the gradient.
      used: what an update of the whole variable takes, which is made of the gradient and has the variable's shape.
      of_variable: the variable's shape.
    """
    shape = context.imported.shape(*gradient)
    if not shape or not of_variable or len(shape) != len(of_variable):
        return False
    if shape[0] is not None and shape[0] != of_variable[0]:
        return True
    behind = context.graph.descendants([gradient.node], controls=False) - {gradient.node}
    adding = {name for name in behind if context.graph.type(name) in ROW_ADDITIONS}
    return bool(adding) and not adding.isdisjoint(context.graph.ancestors([used.node], controls=False))


def _is_mean_of_one(context: Context, target: TensorId) -> bool:
    return is_mean_of_one(context.graph, context.imported, context.of_gradients, target)


def rows_behind(
    graph: Graph, target: TensorId, found: Combine, tower_nodes: Collection[str], towers: int
) -> TensorId | None:
    """Returns the indices by which rows that the towers' gradients were joined to are made dense before an update.

    `tf.convert_to_tensor` of an `IndexedSlices` is such a sum, as is the gradient of a loss of all towers that was
    divided, clipped or accumulated.

    Args:
      graph: the subgraph that a step runs.
      target: the dense gradient that the update rule gets.
      found: how the towers' gradients are combined.
      tower_nodes: the nodes that towers compute.
      towers: their number; the rows of one tower are joined to nothing, and its ids are that tower's.

    Returns:
      The segment ids of the sum nearest to `target` that is made of the joined rows; None if there is none. Numbers of
      distinct rows, by which a sparse update adds up equal ones, are no such ids.
    """
    if found.kind != "concat":
        return None
    joined, level, seen = parse_tensor_name(found.tensor).node, [target.node], {target.node}
    while level:
        for name in level:
            before = graph.inputs(name)
            adds_rows = graph.type(name) == "UnsortedSegmentSum" and (
                graph.type(before[1].node) in op_types.JOINS or (towers == 1 and before[1].node in tower_nodes)
            )
            if adds_rows and joined in graph.ancestors([before[0].node], stop=tower_nodes, controls=False):
                return before[1]
        behind = [tensor.node for name in level for tensor in graph.inputs(name)]
        level = [name for name in dict.fromkeys(behind) if name not in seen and name not in tower_nodes]
        seen.update(level)
    return None


def _labelled(label: str, tensors: Sequence[TensorId]) -> dict[str, str]:
    """Returns {label: name of a tower's tensor}, with the labels numbered if there are several tensors."""
    labels = [label] if len(tensors) == 1 else [part_label(label, i) for i in range(len(tensors))]
    return {label: tensor_name(*tensor) for label, tensor in zip(labels, tensors)}


def raw_gradients(context: Context, gradients: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Returns each tower's gradients as `tf.gradients` made them, before clipping.

    Args:
      context: of the subgraph that a step runs.
      gradients: for each tower, {label: name of its gradient}; see `probe_gradients`.

    Returns:
      The same with the raw gradients' names; {} for a tower of which some are not found.
    """
    result = []
    for tower in gradients:
        found = {label: _raw_gradient(context, tower, label, parse_tensor_name(name)) for label, name in tower.items()}
        complete = {label: tensor for label, tensor in found.items() if tensor is not None}
        names = context.names(complete.values()) if len(complete) == len(found) else []
        result.append(dict(zip(complete, names)))
    return result


def _raw_gradient(context: Context, tower: dict[str, str], label: str, tensor: TensorId) -> TensorId | None:
    """Returns the raw gradient behind one of a tower's gradients, or None."""
    if " (part" in label:
        return None
    found = nearest_derivative(context.graph, tensor, _similar_to(context, tensor))
    dense = indices_label(label) not in tower and label in context.state.variables
    if found is None or not dense:
        return found
    # An IndexedSlices that was made dense has another number of rows than its variable.
    of_variable, as_dense = (
        context.state.variables[label].shape,
        parse_tensor_name(made_dense(context.graph, found.name)),
    )
    for one in (found, as_dense):
        shape = context.imported.shape(*one)
        # The gradient of a weight behind a flattened batch has a number of rows that TensorFlow does not tell.
        is_open = shape is not None and of_variable is not None and _agree(shape, of_variable)
        is_open = is_open and not _is_made_dense(context, tensor, found)
        if shape is None or list(shape) == of_variable or is_open:
            return one
    return None


def _is_made_dense(context: Context, tensor: TensorId, found: TensorId) -> bool:
    """Whether rows are added up to a dense gradient, before they are changed or after it."""
    between = context.graph.ancestors([tensor.node], stop=[found.node], controls=False)
    return any(context.graph.type(name) == "UnsortedSegmentSum" for name in between)


def _agree(shape: Sequence[int | None], other: Sequence[int | None]) -> bool:
    """Whether a shape may be another one: sizes that are known are equal."""
    return len(shape) == len(other) and all(
        first == second or None in (first, second) for first, second in zip(shape, other)
    )


def nearest_derivative(graph: Graph, tensor: TensorId, is_candidate: Callable[[str, int], bool]) -> TensorId | None:
    """Returns the nearest tensor, breadth first, that `tf.gradients` made among a tensor and its ancestors.

    Args:
      graph: the subgraph that a step runs.
      tensor: a tower's gradient, perhaps clipped.
      is_candidate: function from (node, output) to whether a tensor could be that gradient.

    Returns:
      The tensor; None if there is none, or if several are equally near.
    """
    made = nearest_derivatives(graph, tensor, is_candidate)
    return made[0] if len(made) == 1 else None


def nearest_derivatives(graph: Graph, tensor: TensorId, is_candidate: Callable[[str, int], bool]) -> list[TensorId]:
    """Returns the nearest tensors that `tf.gradients` made; see `nearest_derivative`.

    Args:
      graph: the subgraph that a step runs.
      tensor: a tower's gradient, perhaps clipped.
      is_candidate: function from (node, output) to whether a tensor could be that gradient.

    Returns:
      The tensors, which are equally near.
    """
    level, seen = [tensor], {tensor}
    while level:
        made = [t for t in level if GRADIENTS.search(t.node) and is_candidate(*t)]
        if made:
            return made
        level = [before for t in level for before in graph.inputs(t.node)]
        level = [t for t in dict.fromkeys(level) if t not in seen]
        seen.update(level)
    return []


def _similar_to(
    context: Context, target: TensorId, of_variable: Sequence[int | None] | None = None
) -> Callable[[str, int], bool]:
    """Returns a test for tensors that could be parts of `target`.

    They have its dtype and rank, and its dimensions but for the first: rows may be concatenated.

    Args:
      context: of the subgraph that a step runs.
      target: the tensor.
      of_variable: the shape that it has where TensorFlow does not tell, as of the gradient that a loop leaves.
    """
    dtype, known = context.signature(target)
    shape = of_variable if known is None else known

    def is_similar(name: str, output: int) -> bool:
        other_dtype, other = context.signature(TensorId(name, output))
        if other_dtype != dtype or shape is None or other is None:
            return other_dtype == dtype
        sizes = list(zip(shape, other))[1:]
        return len(other) == len(shape) and all(a == b or None in (a, b) for a, b in sizes)

    return is_similar


def _update_inputs(context: Context, effect: Effect, tower_nodes: dict[str, int]) -> list[tuple[str, str]]:
    """Returns (label, tensor name) of an update's gradient, and of the rows of a sparse one.

    An optimizer that was written by hand has no gradient input, nor has a sum of gradients that are kept between runs:
    the value that is assigned counts instead. Of a gradient that is made in a branch of a `cond`, it is what enters
    the branch, such as the mean that a weight decay is added to there.

    Args:
      context: of the subgraph that a step runs.
      effect: the update.
      tower_nodes: {node: tower}.
    """
    weight = effect.writes[0]
    if effect.gradient is None and op_types.is_apply(effect.op) and not op_types.is_sparse(effect.op):
        entering = _entering_gradients(context, parse_tensor_name(effect.values[effect.gradient_at]), tower_nodes)
        return [(weight, entering[0].name)] if len(entering) == 1 else []
    if effect.gradient is None:
        taken = effect.node in context.state.rules or effect.node in context.accumulators.get(weight, ())
        by_hand = taken and effect.gradient_at < 0
        return [(weight, effect.values[0])] if by_hand else []
    if not op_types.is_apply(effect.op) and effect.node not in context.of_gradients:
        return []  # rows of a statistic, such as the centres of classes
    inputs = [(weight, effect.gradient)]
    if op_types.is_sparse(effect.op):
        position = effect.gradient_at + 1 if op_types.is_apply(effect.op) else 0  # Scatter* take the indices first
        inputs.append((indices_label(weight), effect.values[position]))
    return inputs


def _entering_gradients(context: Context, made: TensorId, tower_nodes: dict[str, int]) -> list[TensorId]:
    """Returns the nearest tensors like a gradient made in a branch that enter the branch and that all towers make."""
    graph, is_like, count = context.graph, _similar_to(context, made), context.towers.count
    level, seen = [made], {made}
    while level:
        outside = {graph.before_branches(tensor) for tensor in level if graph.type(tensor.node) in SWITCHES}
        of_all = [t for t in outside if is_like(*t) and all(nearest_tensors(graph, t, tower_nodes, is_like, count))]
        if of_all:
            return of_all
        inside = [tensor.node for tensor in level if graph.type(tensor.node) not in SWITCHES]
        level = [before for name in inside for before in graph.inputs(name) if before not in seen]
        seen.update(level)
    return []
