"""Hazards of images and labels that are changed apart: by other flips, by interpolation, or mixed by other shares."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph, scalar_constant
from legacy.saved.facts.inputs.mapped_elements import mapped_element, with_maps
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.data.random_numbers import draw_of
from workloads.lifted.graph import TWO_WAY_SWITCHES, Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_INTERPOLATIONS = ("ResizeBilinear", "ResizeBicubic", "ResizeArea")
#: Ops that resize parts of images, and the methods by which they interpolate: the default is bilinear.
_CROPS, _LINEAR_CROPS = ("CropAndResize",), (b"", b"bilinear")
#: Ops that resize label maps by giving each pixel the class of one.
_CHOICES_OF_PIXELS = ("ResizeNearestNeighbor",)
_PASSES = ("ExpandDims", "Identity", "Reshape", "Slice", "Squeeze", "StridedSlice", "Transpose", *op_types.TURNS)
_WHOLE_NUMBERS = [dtype.as_datatype_enum for dtype in (tf.int32, tf.int64, tf.uint8)]


def flipped_apart(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds images and label maps that are each turned round at random, by numbers of their own; one hazard for all."""
    for entropy in cross_entropies(whole):
        of_labels, of_images = (_deciders(whole, side.node) for side in (entropy.labels, entropy.logits))
        is_given = not whole.graph.ancestors([entropy.labels.node], controls=False) & whole.trainable
        drawn = [{draw_of(whole.graph, name) for name in side.values()} for side in (of_labels, of_images)]
        if is_given and all(drawn) and drawn[0].isdisjoint(drawn[1]):
            turned, other = next(iter(of_labels)), next(iter(of_images))
            yield Hazard(
                "FLIPPED_APART",
                turned,
                f"{turned} flips labels by the random number {of_labels[turned]}, and {other} flips images by "
                f"{of_images[other]}: in half of all cases, images and labels do not match",
                "draw one number for both, or flip them together, joined along the channels; for parity keep both",
            )
            return


def _deciders(whole: WholeGraph, name: str) -> dict[str, str]:
    """{op that turns data round: the random op that decides whether it does} of those that a node depends on."""
    graph, found = whole.graph, {}
    before_it = graph.ancestors([name], controls=False)
    for node in [n for n in graph.nodes if n in before_it]:
        if graph.type(node) not in op_types.TURNS or is_gradient_op(node) or node not in whole.data:
            continue
        deciding = [tensor.node for tensor in graph.inputs(node)[1:]]
        before = graph.inputs(node)[0].node
        deciding += [graph.inputs(before)[1].node] if graph.type(before) in TWO_WAY_SWITCHES else []
        for user in [use.node for use in graph.users(node)]:
            inputs = [tensor.node for tensor in graph.inputs(user)]
            if graph.type(user) in op_types.CHOICES:
                deciding.append(inputs[0])
            elif graph.type(user) == "Mul":
                deciding += [other for other in inputs if other != node]
        random = [n for n in graph.ancestors(deciding, controls=False) if graph.type(n) == "RandomUniform"]
        found.update({node: min(random)} if random else {})
    return found


def interpolated_labels(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds maps of classes that are resized by interpolation and then made whole numbers; one hazard for all.

    The ops of `Dataset.map` may do it.
    """
    graph = with_maps(whole.graph, (*_INTERPOLATIONS, *_CROPS))
    for entropy in cross_entropies(whole):
        for cast in _casts_to_whole_numbers(graph, mapped_element(whole.graph, graph, entropy.labels)):
            resized = _resized(graph, graph.inputs(cast)[0])
            if resized:
                yield Hazard(
                    "LABELS_INTERPOLATED",
                    resized,
                    f"{resized} ({graph.type(resized)}) interpolates class labels of pixels, and {cast} rounds the "
                    f"result to integers, which {entropy.op} takes as classes: between classes 0 and 2 appears class 1",
                    "resize label maps with nearest-neighbor interpolation; for parity keep it",
                )
                return


def _casts_to_whole_numbers(graph: Graph, labels: TensorId) -> Iterator[str]:
    """Yields the ops that make whole numbers of fractions on the way to labels."""
    todo, seen = [labels], {labels}
    while todo:
        tensor = todo.pop()
        kind, attributes, further = graph.type(tensor.node), graph.nodes[tensor.node].attr, graph.inputs(tensor.node)
        if kind == "Cast":
            if attributes["DstT"].type in _WHOLE_NUMBERS and attributes["SrcT"].type not in _WHOLE_NUMBERS:
                yield tensor.node
                continue
        elif kind in ("Minimum", "Maximum"):  # of the classes that are left, without that of ignored pixels
            further = [one for one in further if scalar_constant(graph.nodes[one.node]) is None]
        elif kind in (*_PASSES, *_CHOICES_OF_PIXELS, "OneHot", "Split"):
            further = further[op_types.divided_input(kind) :][:1]
        elif kind not in ("Pack", "Merge"):
            continue
        todo += [before for before in further if before not in seen]
        seen.update(further)


def _resized(graph: Graph, tensor: TensorId) -> str:
    """The interpolation whose result a tensor holds, perhaps a part of it or turned round; "" if there is none."""
    todo, seen = [tensor], {tensor}
    while todo:
        tensor = todo.pop()
        kind, inputs = graph.type(tensor.node), graph.inputs(tensor.node)
        if kind in _INTERPOLATIONS or (kind in _CROPS and graph.nodes[tensor.node].attr["method"].s in _LINEAR_CROPS):
            return tensor.node
        if kind in (*_PASSES, "Merge", "Select", "SelectV2", *TWO_WAY_SWITCHES):
            further = inputs if kind == "Merge" else inputs[1:] if kind.startswith("Select") else inputs[:1]
            todo += [before for before in further if before not in seen]
            seen.update(further)
    return ""


def labels_mixed_otherwise(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds images r x + (1 - r) p(x), p another order of the examples, with labels (1 - r) y + r p(y); one for all."""
    for entropy in cross_entropies(whole):
        is_given = not whole.graph.ancestors([entropy.labels.node], controls=False) & whole.trainable
        of_labels, of_images = (_mixed(whole, side.node) for side in (entropy.labels, entropy.logits))
        for draw in [draw for draw in of_labels if is_given and draw in of_images]:
            (labels, own_labels), (images, own_images) = of_labels[draw], of_images[draw]
            if own_labels != own_images:
                yield Hazard(
                    "LABELS_MIXED_OTHERWISE",
                    labels,
                    f"{images} mixes examples with others by the random numbers {draw}, and {labels} their labels by 1 "
                    "less these: the label of the smaller part counts most",
                    "mix both by the same numbers; for parity keep it",
                )
                return


def _mixed(whole: WholeGraph, name: str) -> dict[str, tuple[str, bool]]:
    """{random numbers r: (a sum r x + (1 - r) p(x), whether r is the share of x itself)} that a node depends on."""
    graph, found = whole.graph, {}
    before = graph.ancestors([name], controls=False)
    for node in [one for one in graph.of_types(*op_types.SUMS_OF_TWO) if one in before]:
        terms = [share_and_value(whole, tensor) for tensor in graph.inputs(node)]
        (first, is_first, value), (second, is_second, other) = terms if len(terms) == 2 else (("", True, None),) * 2
        if not first or first != second or is_first == is_second or value is None or other is None:
            continue
        turned = [in_other_order(whole, one) for one in (value, other)]
        if turned[0] == other and turned[1] is None:
            found[first] = (node, is_second)
        elif turned[1] == value and turned[0] is None:
            found[first] = (node, is_first)
    return found


def share_and_value(whole: WholeGraph, product: TensorId) -> tuple[str, bool, TensorId | None]:
    """Returns (r, True, x) of r x with a random r, (r, False, x) of (1 - r) x; ("", True, None) of anything else."""
    graph = whole.graph
    inputs = graph.inputs(product.node) if graph.type(product.node) == "Mul" else []
    for one, other in zip(inputs, reversed(inputs)):
        share, is_share = source_of_elements(graph, one).node, True
        while graph.type(share) == "Sub" and whole.value(graph.inputs(share)[0].node) == 1:
            share, is_share = source_of_elements(graph, graph.inputs(share)[1]).node, not is_share
        kinds = {graph.type(node) for node in graph.ancestors([share], controls=False)}
        drawn = {kind for kind in kinds if op_types.is_random(kind)}
        if drawn and not any(op_types.is_source(kind) or kind in op_types.VARIABLES for kind in kinds - drawn):
            return share, is_share, graph.origin(other)
    return "", True, None


def in_other_order(whole: WholeGraph, tensor: TensorId) -> TensorId | None:
    """Returns the x of its rows in another order; None of anything else."""
    kinds = (*op_types.TURNS, "Gather", "GatherV2", "RandomShuffle", "Roll")
    return whole.graph.origin(whole.graph.inputs(tensor.node)[0]) if whole.graph.type(tensor.node) in kinds else None
