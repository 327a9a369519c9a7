"""Hazard of augmentations that draw one random number for a whole batch of images."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import TWO_WAY_SWITCHES, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Dimensions of a batch of images.
_RANK = 4
#: Ops that hand a number on, perhaps as another type or in another shape.
_HANDS_ON = ("Cast", "ExpandDims", "Identity", "Reshape")


def augmented_alike(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds crops and flips of a batch of images by one random number for all of them; one hazard for all.

    Images that are changed one at a time, before they are batched, have three dimensions.
    """
    graph = found.cut.graph
    for name in [name for name in graph.nodes if name in whole.minimized and not is_gradient_op(name)]:
        kind = graph.type(name)
        if kind == "Slice" and _is_batch(whole, found, graph.inputs(name)[0]):
            text = f"{name} cuts all images of a batch at one random place" if _is_random_place(found, name) else ""
        elif _turns(found, name) and _is_batch(whole, found, graph.inputs(name)[0]):
            coin = _coin(found, name)
            text = f"{name} turns all images of a batch round, or none, as one number, {coin}, decides" if coin else ""
        else:
            text = ""
        if text:
            yield Hazard(
                "AUGMENTED_ALIKE",
                name,
                f"{text}: the examples of a batch are not varied independently",
                "augment each image before batching, in Dataset.map or tf.map_fn; for parity keep it",
            )
            return


def _is_batch(whole: WholeGraph, found: Analysis, tensor: TensorId) -> bool:
    """Whether a tensor is a batch of images that no trained layer has changed, and not one video of several."""
    imported, graph, before = found.context.imported, found.cut.graph, _before(found, tensor.node)
    shape = imported.shape(*tensor)
    if shape is None or len(shape) != _RANK or shape[0] == 1 or tensor.node not in whole.data:
        return False
    sources = [name for name in before if op_types.is_source(graph.type(name))]
    is_part = any(len(imported.shape(name) or shape) > _RANK for name in sources)
    return not is_part and not before & whole.trainable


def _before(found: Analysis, name: str) -> set[str]:
    return found.cut.graph.ancestors([name], controls=False)


def _is_random_place(found: Analysis, name: str) -> bool:
    """Whether the first corner of a slice is drawn."""
    corner = found.cut.graph.inputs(name)[1].node
    return any(op_types.is_random(found.cut.graph.type(node)) for node in _before(found, corner))


def _turns(found: Analysis, name: str) -> bool:
    """Whether an op reverses the order along a dimension, as `x[:, :, ::-1]` does, too."""
    graph = found.cut.graph
    if graph.type(name) != "StridedSlice":
        return graph.type(name) in op_types.TURNS
    strides = constant_array(graph, graph.inputs(name)[3].node)
    return strides is not None and bool((strides == -1).any())


def _coin(found: Analysis, name: str) -> str:
    """The one random number that decides whether an op turns its input round; "" if there is none."""
    graph = found.cut.graph
    deciding = [tensor.node for tensor in graph.inputs(name)[1:]]
    before = graph.origin(graph.inputs(name)[0]).node
    deciding += [graph.inputs(before)[1].node] if graph.type(before) in TWO_WAY_SWITCHES else []
    for user in [use.node for use in graph.users(name)]:
        deciding += [graph.inputs(user)[0].node] if graph.type(user) in op_types.CHOICES else []
        if graph.type(user) == "Mul":
            deciding += [
                one.node for one in graph.inputs(user) if one.node != name and _is_zero_or_one(found, one.node)
            ]
    drawn = sorted(node for node in graph.ancestors(deciding, controls=False) if op_types.is_random(graph.type(node)))
    sizes = [found.context.imported.shape(node) for node in drawn]
    return drawn[0] if len(drawn) == 1 and sizes[0] is not None and set(sizes[0]) <= {1} else ""


def _is_zero_or_one(found: Analysis, factor: str) -> bool:
    """Whether a factor is what a comparison or a rounding gives, or 1 less it, and so keeps all or nothing."""
    graph = found.cut.graph
    while graph.type(factor) in (*_HANDS_ON, "Sub"):
        inputs = graph.inputs(factor)
        factor = inputs[1 if graph.type(factor) == "Sub" else 0].node
    return graph.type(factor) in (*op_types.ORDERINGS, "Floor", "Round", "Rint")
