"""Hazard of a language model that reads the words that it is to predict: a backward RNN, attention without a mask."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

_TURNS = ("ReverseV2", "Reverse", "ReverseSequence")


def words_read_ahead(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds losses that predict x[:, 1:] from x[:, :-1] by ops that let each time see later ones; one hazard for all.

    A model that draws normal noise, as an autoencoder of sentences does, is left alone.
    """
    graph = whole.graph
    for entropy in cross_entropies(whole) if whole.minimized_ops(*op_types.LOOKUPS) else ():
        predicted = slice_of_times(graph, source_of_elements(graph, entropy.labels))
        if entropy.is_sigmoid or predicted is None:
            continue
        before = graph.ancestors([entropy.logits.node], controls=False)
        read = {name for name in before if graph.type(name) in op_types.LOOKUPS and _is_earlier(graph, name, predicted)}
        end = "" if read else _sliced_results(graph, entropy.logits.node)
        if end:  # the model reads all words, and its last prediction is left out
            read = {
                name for name in before if graph.type(name) in op_types.LOOKUPS and _is_of(graph, name, predicted[0])
            }
        if not read or any(graph.type(name) == "RandomStandardNormal" for name in before):
            continue
        for name in [name for name in graph.nodes if name in before and not is_gradient_op(name)]:
            reason = "reverses the outputs of a backward RNN" if _is_backward(whole, name, read) else ""
            reason = reason or ("is attention without a mask" if _is_unmasked(whole, name, read) else "")
            if reason and (not end or _keeps_times(graph, name, end)):
                yield Hazard(
                    "WORDS_READ_AHEAD",
                    name,
                    f"{entropy.op} predicts each next word of {predicted[0].node}, and {name} {reason}: the word to "
                    "be predicted is among the inputs",
                    "use a forward RNN alone, or a causal mask, such as tf.linalg.band_part; for parity keep it",
                )
                return


def slice_of_times(graph: Graph, tensor: TensorId) -> tuple[TensorId, int] | None:
    """Returns (x, b) of a tensor that is x[:, b:e]; None of any other."""
    if graph.type(tensor.node) != "StridedSlice":
        return None
    begin, strides = (constant_array(graph, graph.inputs(tensor.node)[place].node) for place in (1, 3))
    attributes = graph.nodes[tensor.node].attr
    is_plain = begin is not None and strides is not None and begin.size == 2 and strides.ravel().tolist() == [1, 1]
    if begin is None or not is_plain or attributes["shrink_axis_mask"].i or attributes["new_axis_mask"].i:
        return None
    first = 0 if attributes["begin_mask"].i & 2 else int(begin.ravel()[1])
    return source_of_elements(graph, graph.inputs(tensor.node)[0]), first


def _is_earlier(graph: Graph, lookup: str, predicted: tuple[TensorId, int]) -> bool:
    """Whether a lookup is of the words before those that are predicted."""
    read = slice_of_times(graph, source_of_elements(graph, graph.inputs(lookup)[1]))
    return read is not None and read[0] == predicted[0] and 0 <= read[1] < predicted[1]


def _is_of(graph: Graph, lookup: str, words: TensorId) -> bool:
    """Whether a lookup is of all words of a tensor."""
    return source_of_elements(graph, graph.inputs(lookup)[1]) == words


def _sliced_results(graph: Graph, logits: str) -> str:
    """The node x of logits that are computed from x[:, :e] time by time; "" if there is none."""
    while graph.type(logits) in ("Identity", "Reshape", "BiasAdd", "Add", "AddV2", "MatMul"):
        logits = graph.inputs(logits)[0].node
    sliced = slice_of_times(graph, TensorId(logits, 0))
    whole_of_it = graph.inputs(logits)[0].node if graph.type(logits) == "StridedSlice" else ""
    return whole_of_it if (sliced is not None and sliced[1] == 0) or _drops_last(graph, logits) else ""


def _drops_last(graph: Graph, name: str) -> bool:
    """Whether a node is x[:, :-1] of any number of dimensions."""
    if graph.type(name) != "StridedSlice":
        return False
    begin, end = (constant_array(graph, graph.inputs(name)[place].node) for place in (1, 2))
    attributes = graph.nodes[name].attr
    shrinks = attributes["shrink_axis_mask"].i or attributes["new_axis_mask"].i or attributes["ellipsis_mask"].i
    if begin is None or end is None or begin.size < 2 or shrinks:
        return False
    starts = bool(attributes["begin_mask"].i & 2) or int(begin.ravel()[1]) == 0
    return starts and not attributes["end_mask"].i & 2 and int(end.ravel()[1]) < 0


def _keeps_times(graph: Graph, attention: str, end: str) -> bool:
    """Whether nothing between attention and the results that are sliced joins times, as a code of a sentence does.

    Sizes that are taken of shapes, as for a reshape, join nothing.
    """
    shapes = set(graph.of_types(*op_types.SHAPE_OPS))
    between = graph.descendants([attention], controls=False, stop=shapes) & graph.ancestors([end], controls=False)
    for name in [name for name in between if not is_gradient_op(name)]:
        kind = graph.type(name)
        axes = constant_array(graph, graph.inputs(name)[1].node) if kind in ("Mean", "Sum", "Max") else None
        joins = kind in ("Mean", "Sum", "Max") and (axes is None or bool({0, 1} & set(axes.ravel().tolist())))
        if joins or kind in ("StridedSlice", "Enter", "Switch", *op_types.LOOKUPS):
            return False
    return True


def _is_backward(whole: WholeGraph, name: str, read: Collection[str]) -> bool:
    """Whether a node turns the outputs of a loop round, one for each time, that looked-up words entered."""
    graph = whole.graph
    if graph.type(name) not in _TURNS:
        return False
    inner = graph.inputs(name)[0].node
    while graph.type(inner) in ("Transpose", "Identity", "Reshape"):
        inner = graph.inputs(inner)[0].node
    before = graph.ancestors([inner], controls=False) if graph.type(inner).startswith("TensorArrayGather") else set()
    return any(word in before for word in read) and any(graph.type(node) in _TURNS for node in before)


def _is_unmasked(whole: WholeGraph, name: str, read: Collection[str]) -> bool:
    """Whether a node is the softmax of products of words with words, which nothing but a number scales."""
    graph = whole.graph
    if graph.type(name) != "Softmax":
        return False
    inner = graph.inputs(name)[0].node
    while graph.type(inner) in ("Identity", "Reshape", "Mul", *op_types.QUOTIENTS):
        inputs = [tensor.node for tensor in graph.inputs(inner)]
        others = [node for node in inputs if whole.value(node) is None]
        if graph.type(inner) not in ("Identity", "Reshape") and len(others) != 1:
            return False
        inner = inputs[0] if graph.type(inner) in ("Identity", "Reshape") else others[0]
    if graph.type(inner) not in op_types.MATRIX_PRODUCTS:
        return False
    sides = [graph.ancestors([tensor.node], controls=False) for tensor in graph.inputs(inner)[:2]]
    return all(any(word in side for word in read) for side in sides)
