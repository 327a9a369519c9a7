"""Hazards of cross entropies: logits that an activation made, softmax over the examples, labels that do not add up."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array, order_of_axes
from legacy.saved.hazards.basics.cross_entropies import CrossEntropy, cross_entropies
from legacy.saved.hazards.basics.elements import hands_elements_on, source_of_elements, source_of_values
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_source
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.data.augmentation import share_and_value
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: {activation: what it makes of the logits of a softmax}.
_ACTIVATIONS = {
    "Relu": "no logit is below zero, and classes whose logit is zero get no gradient",
    "Relu6": "no logit is below zero or above six, and classes at these get no gradient",
    "Softmax": "they are probabilities already, and no class gets nearly all of the probability",
    "Sigmoid": "all are between zero and one, and no class gets nearly all of the probability",
    "Tanh": "all are between -1 and 1, and no class gets nearly all of the probability",
}
#: {activation: what it makes of the logits of a sigmoid}.
_ACTIVATIONS_OF_SIGMOID = {
    "Relu": "no probability is below one half, and logits of zero get no gradient",
    "Relu6": "no probability is below one half, and logits of zero get no gradient",
    "Softmax": "they are probabilities already, and all that follow are between 0.5 and 0.73",
    "Sigmoid": "they are probabilities already, and all that follow are between 0.5 and 0.73",
    "Tanh": "all are between -1 and 1, and all probabilities between 0.27 and 0.73",
}
#: Losses of sequences that take logits, of which they compute a softmax.
_CTC_LOSSES = ("CTCLoss", "CTCLossV2")
#: Softmax ops, which add up over the last axis.
_SOFTMAXES = ("Softmax", "LogSoftmax")
#: Ops on the way from a product of rows and weights to its elements.
_ROW_PASSES = ("Identity", "BiasAdd", "Add", "AddV2", "Cast")
#: Ops on the way from a convolution to its channels, at another size of the images, too.
_IMAGE_PASSES = (*_ROW_PASSES, "ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea", "Relu")

#: Labels of an example that add up to one within this are probabilities.
_SUM_TOLERANCE = 1e-3


def activated_logits(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses of the step whose logits an activation made, each once for all towers."""
    seen: set[str] = set()
    for find in (_softmax_twice, _softmax_that_is_compared):
        hazard = find(whole)
        if hazard is not None:
            yield hazard
    for entropy in [*cross_entropies(whole), *_of_sequences(whole)]:
        source = source_of_values(whole.graph, entropy.logits).node
        kind, effects = whole.graph.type(source), _ACTIVATIONS_OF_SIGMOID if entropy.is_sigmoid else _ACTIVATIONS
        if kind in effects and kind not in seen:
            seen.add(kind)
            yield Hazard(
                "LOGITS_ACTIVATED",
                entropy.op,
                f"{entropy.op} takes what {source} ({kind}) gives for logits: {effects[kind]}",
                "keep it for parity; in new code, give the loss what the activation is given",
            )


def _softmax_twice(whole: WholeGraph) -> Hazard | None:
    """Finds a softmax of a loss whose input is another one's result, such as that of a layer's activation."""
    for name in whole.minimized_ops(*_SOFTMAXES):
        source = source_of_elements(whole.graph, whole.graph.inputs(name)[0]).node
        if whole.graph.type(source) == "Softmax" and whole.graph.ancestors([source], controls=False) & whole.trainable:
            return Hazard(
                "LOGITS_ACTIVATED",
                name,
                f"{name} is the softmax of what {source} (Softmax) gives: {_ACTIVATIONS['Softmax']}",
                "keep it for parity; in new code, one softmax",
            )
    return None


def _softmax_that_is_compared(whole: WholeGraph) -> Hazard | None:
    """Finds a softmax of an activation's results that an error compares with data, as squares of the differences.

    Shares of attention, which multiply what they are shares of, may well be those of a tanh.
    """
    graph = whole.graph
    for name in whole.minimized_ops("Softmax"):
        source = source_of_elements(graph, graph.inputs(name)[0]).node
        kind = graph.type(source)
        if (
            is_gradient_op(name)
            or kind not in _ACTIVATIONS
            or kind == "Softmax"
            or source not in made_by_weights(whole)
        ):
            continue
        difference = _difference_from_data(whole, name)
        if difference:
            return Hazard(
                "LOGITS_ACTIVATED",
                name,
                f"{name} is the softmax of what {source} ({kind}) gives, and {difference} compares it with data: "
                f"{_ACTIVATIONS[kind]}",
                "keep it for parity; in new code, give the softmax what the activation is given",
            )
    return None


def _difference_from_data(whole: WholeGraph, softmax: str) -> str:
    """The node that takes the difference of a softmax's results and data that no weight changes; "" if none does."""
    graph, todo = whole.graph, [softmax]
    while todo:
        name = todo.pop()
        for user in [use.node for use in graph.users(name) if use.node in whole.minimized]:
            if hands_elements_on(graph, user):
                todo.append(user)
            elif graph.type(user) in ("Sub", "SquaredDifference") and not is_gradient_op(user):
                others = [tensor.node for tensor in graph.inputs(user) if tensor.node != name]
                if any(other in whole.data and other not in made_by_weights(whole) for other in others):
                    return user
    return ""


def _of_sequences(whole: WholeGraph) -> Iterator[CrossEntropy]:
    for name in whole.minimized_ops(*_CTC_LOSSES):
        logits, labels = whole.graph.inputs(name)[:2]
        yield CrossEntropy(name, logits, labels, False)


def softmax_over_examples(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a softmax of the step whose input is a layer's output, transposed; one for all towers."""
    for name in whole.graph.nodes:
        if name in whole.reach and whole.graph.type(name) in _SOFTMAXES:
            layer = _transposed_layer(whole, name)
            if layer is not None and not _pools_rows(whole, name):
                yield Hazard(
                    "SOFTMAX_OVER_EXAMPLES",
                    name,
                    f"{name} adds up to one over the rows of {layer}, the examples, and not over its columns",
                    "keep it for parity; in new code, softmax over the last axis",
                )
                return


def _transposed_layer(whole: WholeGraph, softmax: str) -> str | None:
    """The product of rows and weights that a softmax takes transposed; None if it takes anything else."""
    graph = whole.graph
    above = graph.inputs(softmax)[0].node
    while graph.type(above) in ("Identity", "Reshape"):  # 1.x flattens all axes but the last
        above = graph.inputs(above)[0].node
    if graph.type(above) != "Transpose":
        return None
    name = graph.inputs(above)[0].node
    while graph.type(name) in _ROW_PASSES and graph.inputs(name):
        before = [tensor.node for tensor in graph.inputs(name)]
        name = next((node for node in before if node in whole.data), before[0])
    if graph.type(name) != "MatMul":
        return None
    weights = graph.inputs(name)[1].node
    while graph.type(weights) in ("Identity", "ReadVariableOp", "Enter", "Cast") and graph.inputs(weights):
        weights = graph.inputs(weights)[0].node
    return name if graph.type(weights) in op_types.VARIABLES else None


def _pools_rows(whole: WholeGraph, softmax: str) -> bool:
    """Whether the probabilities of a softmax over rows weight these rows in a sum, as for a bag that is one example."""
    graph, todo, seen = whole.graph, [(softmax, True)], {softmax}
    while todo:
        name, turned = todo.pop()
        for user, position, _ in [use for use in graph.users(name) if not is_gradient_op(use.node)]:
            kind = graph.type(user)
            if kind == "MatMul" and position == 0 and graph.nodes[user].attr["transpose_a"].b != turned:
                return True
            sums = [use.node for use in graph.users(user) if not is_gradient_op(use.node)]
            if kind == "Mul" and any(_adds_up_rows(graph, total) for total in sums):
                return True
            if kind in ("Identity", "Reshape", "ExpandDims", "StridedSlice", "Squeeze", "Transpose"):
                if user not in seen:
                    todo.append((user, turned != (kind == "Transpose")))
                seen.add(user)
    return False


def _adds_up_rows(graph: Graph, name: str) -> bool:
    """Whether a node is a sum along the first axis."""
    axes = constant_array(graph, graph.inputs(name)[1].node) if graph.type(name) == "Sum" else None
    return axes is not None and 0 in axes.ravel()


def _transposition_before(graph: Graph, softmax: str) -> tuple[TensorId, TensorId] | None:
    """The tensor that is transposed before a softmax, and the new order of its axes; None if none is."""
    above = graph.inputs(softmax)[0]
    while graph.type(above.node) in ("Identity", "Reshape"):
        above = graph.inputs(above.node)[0]
    if graph.type(above.node) != "Transpose":
        return None
    source, order = graph.inputs(above.node)[:2]
    return source, order


def shares_over_examples(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds a softmax along the first axis of what has a row for each of a tower's examples; one for all towers."""
    graph, imported, batch = found.cut.graph, found.context.imported, found.plan.batch
    for name in graph.nodes if batch else []:
        if graph.type(name) not in _SOFTMAXES or name not in found.context.data or name not in whole.reach:
            continue
        transposed = _transposition_before(graph, name)
        if transposed is None:
            continue
        source, order = transposed
        axes, shape = order_of_axes(graph, imported, order), imported.shape(*source)
        stays = axes is not None and axes[-1] != 0  # of two axes, any other order exchanges them
        rows = shape is not None and len(shape) == 2 and shape[0] == batch and shape[1] != batch
        if rows and not stays and _transposed_layer(whole, name) is None and not _pools_rows(whole, name):
            yield Hazard(
                "SOFTMAX_OVER_EXAMPLES",
                name,
                f"{name} is a softmax over the first axis of {source.node}, the {batch} examples of a tower, and not "
                "over the second: each example's probabilities depend on the others",
                "keep it for parity; in new code, softmax over the last axis",
            )
            return


def shares_over_pixels(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds a softmax along one axis of the images that a convolution makes, which has channels; one for all towers."""
    graph, imported = found.cut.graph, found.context.imported
    for name in [name for name in whole.minimized_ops(*_SOFTMAXES) if name in graph.nodes]:
        transposed = _transposition_before(graph, name)
        if transposed is None:
            continue
        source, order = transposed
        axes, shape, layer = order_of_axes(graph, imported, order), imported.shape(*source), source.node
        while graph.type(layer) in _IMAGE_PASSES:
            layer = graph.inputs(layer)[0].node
        is_image = graph.type(layer) in ("Conv2D", "Conv2DBackpropInput") and graph.nodes[layer].attr[
            "data_format"
        ].s in (b"NHWC", b"")
        taken = imported.shape(*graph.inputs(name)[0])
        if not is_image or axes is None or shape is None or taken is None:
            continue
        is_merged = taken[-1] is not None and taken[-1] != shape[axes[-1]]  # as of all pixels, for their mean place
        if axes[-1] in (1, 2) and shape[3] != 1 and not is_merged:
            yield Hazard(
                "SOFTMAX_OVER_PIXELS",
                name,
                f"{name} is a softmax over axis {axes[-1]} of the images of {layer}, and not over their channels: "
                "each pixel's probabilities depend on those in its row or column",
                "keep it for parity; in new code, softmax over the last axis",
            )
            return


def labels_that_do_not_add_up(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds one-hot labels of a softmax that are smoothed so that an example's do not add up to one; each sum once."""
    seen: set[float] = set()
    taken = {entropy.op: entropy.labels for entropy in cross_entropies(whole) if entropy.is_product}
    for name in whole.graph.nodes:
        if name in whole.reach and whole.graph.type(name) == "SoftmaxCrossEntropyWithLogits":
            taken[name] = whole.graph.inputs(name)[1]
        if name in taken:
            total = _sum_of_labels(whole, source_of_elements(whole.graph, taken[name]).node)
            if total is not None and abs(total - 1) > _SUM_TOLERANCE and round(total, 3) not in seen:
                seen.add(round(total, 3))
                yield Hazard(
                    "LABELS_DO_NOT_ADD_UP",
                    name,
                    f"the labels of each example that {name} takes add up to {total:.4g}, and not to 1",
                    "keep it for parity; smoothing by s gives 1 - s + s / K to the class, and s / K to each other",
                )


def _sum_of_labels(whole: WholeGraph, name: str) -> float | None:
    """The sum of an example's labels, of a one-hot code times a constant plus a constant; None for anything else."""
    name, factor, addend = linear_source(whole, name)
    mixed = _mixed_with_others(whole, name)
    if mixed is not None:
        name, own, more = linear_source(whole, mixed)
        factor, addend = factor * own, addend + factor * more
    if whole.graph.type(name) != "OneHot":
        return None
    numbers = [whole.value(tensor.node) for tensor in whole.graph.inputs(name)[1:4]]
    if None in numbers:
        return None
    depth, on, off = (float(number or 0.0) for number in numbers)
    return factor * (on + (depth - 1) * off) + addend * depth


def _mixed_with_others(whole: WholeGraph, name: str) -> str | None:
    """The x of r x + (1 - r) p(x) with random shares r, and rows of x in another order; None of any other node."""
    is_sum = whole.graph.type(name) in op_types.ADDITIONS
    terms = [share_and_value(whole, tensor) for tensor in whole.graph.inputs(name)[:2]] if is_sum else []
    values = [value for share, _, value in terms if share and value is not None]
    is_mixture = len(values) == 2 and terms[0][0] == terms[1][0] and terms[0][1] != terms[1][1]
    return values[0].node if is_mixture else None
