"""Hazard of a layer whose results a loss pushes one way, whatever the data are, so that it learns nothing else."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies, filled
from legacy.saved.hazards.basics.directions import minimized_targets, trained_by
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.signs.pushes import Pushes
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_PARTS = ("Split", "SplitV", "StridedSlice", "Slice", "Unpack")
_LAYERS = ("MatMul", "Conv2D", "Conv3D", "Reshape", "Conv2DBackpropInput", "Tensordot", "BatchMatMul", "BatchMatMulV2")
_WORDS = {1: "rises", -1: "falls"}


def results_pushed_one_way(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds layers with a bias on which all losses that train it depend in one direction; one hazard for all.

    Such a bias moves for ever: a term that pulls the other way is missing, or has the wrong sign. Also a term of one
    tower alone pulls. A loss that is the mean of one layer's results, as in a test of speed, is left alone.
    """
    layers = _layers_with_bias(whole)
    trained = trained_by(whole)
    targets = minimized_targets(whole)
    if len(targets) < len(whole.targets):
        return  # some losses are maximized
    pushes: dict[tuple[str, ...], Pushes] = {}
    for bias, towers in layers.items():
        own = tuple(target for target in targets if bias in trained.get(target, ()))
        if own not in pushes:
            pushes[own] = Pushes(whole, own)
        pushed = [_pushed(whole, towers[tower]) for tower in sorted(towers)] if 0 in towers else [[]]
        for number, every in enumerate(pushed[0]):
            parts = [part for part in every if pushes[own].sign(part) is not None]  # others are of another loss alone
            others = [part for each in pushed[1:] for group in each[number:][:1] for part in group]
            signs = {pushes[own].sign(part) for part in [*parts, *others]} - {None}
            if len(signs) != 1 or not signs & {1, -1} or _is_all_of_a_loss(whole, parts) or _is_told(whole, own, parts):
                continue
            yield Hazard(
                "PUSHED_ONE_WAY",
                parts[0].node,
                f"{own[0]} only {_WORDS[signs.pop() or 0]} where {' and '.join(part.name for part in parts[:3])}, the "
                f"output of the layer with {bias}, rises, whatever the data are: the gradient of {bias} never changes "
                "its sign",
                "look for a term with the wrong sign, or a missing one; for parity keep it",
            )
            return


def _is_told(whole: WholeGraph, targets: tuple[str, ...], parts: list[TensorId]) -> bool:
    """Whether LABELS_OF_ONE_CLASS says why a layer is pushed: labels that are joined of several parts are all equal.

    Args:
      whole: the graph.
      targets: the losses that push it.
      parts: its results.
    """
    graph, nodes = whole.graph, {part.node for part in parts}
    needed = graph.ancestors(targets, controls=False)
    entropies = [one for one in cross_entropies(whole) if one.is_sigmoid and one.op in needed]
    own = [one for one in entropies if graph.ancestors([one.logits.node], controls=False) & nodes]
    kinds = [graph.type(source_of_elements(graph, one.labels).node) for one in own]
    numbers = {filled(whole, one.labels.node) for one in entropies}
    return len(numbers) == 1 and None not in numbers and "ConcatV2" in kinds


def _layers_with_bias(whole: WholeGraph) -> dict[str, dict[int, list[TensorId]]]:
    """{trained bias: {tower: the results of its layers to which it is added}}."""
    graph = whole.graph
    found: dict[str, dict[int, list[TensorId]]] = collections.OrderedDict()
    for name in whole.minimized_ops("BiasAdd", "Add", "AddV2"):
        if is_gradient_op(name):
            continue
        inputs = graph.inputs(name)
        for one, other in (inputs, inputs[::-1]):
            variable = variable_read(graph, one.node)
            if variable in whole.trainable and graph.type(other.node) in _LAYERS:
                towers = found.setdefault(variable, collections.OrderedDict())
                towers.setdefault(whole.labels.get(name, 0), []).append(TensorId(name, 0))
                break
    return found


def _pushed(whole: WholeGraph, results: list[TensorId]) -> list[list[TensorId]]:
    """Groups of tensors that a loss may push as one: each part of a layer's only result, or all of its results."""
    return [[part] for part in _parts(whole, results[0])] if len(results) == 1 else [results]


def _parts(whole: WholeGraph, result: TensorId) -> list[TensorId]:
    """A layer's result, or the parts into which it is split, each with entries of the bias of its own.

    Rows of it, as of both examples of a pair that a loss compares, have the same entries; so may parts of what is
    reshaped.
    """
    graph, todo, found = whole.graph, [result.node], []
    while todo:
        users = {use.node for use in graph.users(todo.pop()) if use.node in whole.minimized}
        users = {user for user in users if not is_gradient_op(user) and graph.type(user) not in ("Shape", "ShapeN")}
        if users and all(graph.type(user) == "Identity" or _cuts_columns(graph, user) for user in users):
            todo += [user for user in users if graph.type(user) not in _PARTS]
            found += sorted(_outputs(whole, [user for user in users if graph.type(user) in _PARTS]))
        else:
            return [result]
    return found or [result]


def _cuts_columns(graph: Graph, name: str) -> bool:
    """Whether a node takes parts of its input along the last dimension, or along another one than the first."""
    kind, inputs = graph.type(name), graph.inputs(name)
    if kind == "Unpack":
        return graph.nodes[name].attr["axis"].i != 0
    place = {"Split": 0, "SplitV": 2, "StridedSlice": 1, "Slice": 2}.get(kind)
    numbers = None if place is None else constant_array(graph, inputs[place].node)
    if numbers is None or not numbers.size:
        return False
    if kind in op_types.SPLITS:
        return bool(numbers.ravel()[0] != 0)
    if kind == "Slice":
        return bool(numbers.size > 1 and numbers[-1] != -1)
    masks = graph.nodes[name].attr["begin_mask"].i & graph.nodes[name].attr["end_mask"].i
    return numbers.size > 1 and not masks >> (numbers.size - 1) & 1


def _outputs(whole: WholeGraph, names: list[str]) -> set[TensorId]:
    """The tensors of some nodes that others take."""
    uses = {use.node for name in names for use in whole.graph.users(name)}
    return {tensor for use in uses for tensor in whole.graph.inputs(use) if tensor.node in names}


def _is_all_of_a_loss(whole: WholeGraph, parts: list[TensorId]) -> bool:
    """Whether a loss depends on weights by way of one layer's results alone, one op after the other."""
    graph, name = whole.graph, parts[0].node
    while len(parts) == 1 and name not in whole.targets:
        users = {use.node for use in graph.users(name) if use.node in whole.minimized and not is_gradient_op(use.node)}
        users = {user for user in users if graph.type(user) not in ("Shape", "ShapeN", "Size", "Rank")}
        if len(users) != 1:
            return False
        name = users.pop()
        trained = [tensor for tensor in graph.inputs(name) if tensor.node in made_by_weights(whole)]
        if len(trained) > 1:
            return False
    return len(parts) == 1
