"""Hazards of the masks of attention: of the words in the place of the padding, or multiplied before the softmax."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import constant_factor
from legacy.saved.hazards.basics.variable_reads import variable_read, variable_sizes
from workloads.lifted.graph import Graph, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that hand a mask on, perhaps in another shape.
_PASSES = ("Cast", "Identity", "ExpandDims", "Reshape", "Tile", "StridedSlice", "Squeeze", "Transpose", "StopGradient")
#: The least number that is taken for infinity in scores.
LEAST_INFINITE = 1e3


def inverted_masks(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds softmaxes of scores to which a large number is added where a mask has words; one hazard for all.

    So do scores of which a causal mask leaves those of later words alone, but for one of two directions.
    """
    for softmax in _softmaxes(whole):
        scores = _past(whole.graph, whole.graph.inputs(softmax)[0].node)
        if _leaves_later_words(whole, scores) and not _has_other_direction(whole, softmax):
            yield Hazard(
                "MASK_INVERTED",
                softmax,
                f"{scores} makes the scores of the word itself and of all earlier ones minus infinity, and keeps those "
                f"of later words, before {softmax}: the last word attends to nothing",
                "mask what is above the diagonal; for parity keep the mask",
            )
            return
        chosen = _chosen_at_words(whole, scores)
        if chosen:
            yield Hazard(
                "MASK_INVERTED",
                softmax,
                f"{scores} sets the scores of the words to {chosen}, and keeps those of the padding, before "
                f"{softmax}: the words are masked, and the padding is attended to",
                "mask the padding; for parity keep the mask",
            )
            return
        for term, sign in _terms(whole.graph, scores):
            scaled = constant_factor(whole, _past(whole.graph, term))
            words, factor = (_words(whole, scaled[0]), sign * scaled[1]) if scaled is not None else (0, 0.0)
            if scaled is not None and abs(factor) >= LEAST_INFINITE and words * factor < 0:
                yield Hazard(
                    "MASK_INVERTED",
                    softmax,
                    f"{softmax} takes scores to which {term} adds {factor:g} times {scaled[0]}, which is 1 at the "
                    "words: the words are masked, and the padding is attended to",
                    "mask the padding; for parity keep the mask",
                )
                return


def _terms(graph: Graph, name: str) -> list[tuple[str, int]]:
    """The (term, sign) that a sum or difference joins; none of any other node."""
    inputs, is_difference = [tensor.node for tensor in graph.inputs(name)], graph.type(name) == "Sub"
    if not is_difference and graph.type(name) not in op_types.ADDITIONS:
        return []
    return [(term, -1 if is_difference and place else 1) for place, term in enumerate(inputs)]


def _chosen_at_words(whole: WholeGraph, name: str) -> str:
    """A large negative number that a where gives to the words of a mask, in words; "" if it gives none."""
    inputs = [tensor.node for tensor in whole.graph.inputs(name)]
    if whole.graph.type(name) not in op_types.CHOICES:
        return ""
    words = _words(whole, inputs[0])
    number = _repeated_number(whole, inputs[1] if words > 0 else inputs[2]) if words else None
    return f"{number:g}" if number is not None and number <= -LEAST_INFINITE else ""


def _leaves_later_words(whole: WholeGraph, name: str) -> bool:
    """Whether scores at and below the diagonal are set to a large negative number, or have one added."""
    graph, inputs = whole.graph, [tensor.node for tensor in whole.graph.inputs(name)]
    if graph.type(name) in op_types.CHOICES:
        side = _earlier_words(whole, inputs[0])
        number = _repeated_number(whole, inputs[1] if side > 0 else inputs[2]) if side else None
        return number is not None and number <= -LEAST_INFINITE
    for term, sign in _terms(graph, name):
        scaled = constant_factor(whole, _past(graph, term))
        if scaled is not None and sign * scaled[1] <= -LEAST_INFINITE and _earlier_words(whole, scaled[0]) > 0:
            return True
    return False


def _has_other_direction(whole: WholeGraph, softmax: str) -> bool:
    """Whether another softmax of the tower has a triangular mask of the other words, as of a forward direction."""
    softmaxes = [name for name in _softmaxes(whole) if whole.labels.get(name) == whole.labels.get(softmax)]
    for other in softmaxes:
        scores = whole.graph.inputs(other)[0].node
        if not _leaves_later_words(whole, _past(whole.graph, scores)):
            before = whole.graph.ancestors([scores], softmaxes, controls=False)
            if any(_is_causal(whole, name) for name in before if whole.graph.type(name) not in _PASSES):
                return True
    return False


def _earlier_words(whole: WholeGraph, name: str) -> int:
    """1 of a matrix of ones with zeros above its diagonal, or where it has ones; -1 of its opposite; 0 of others."""
    graph, sign = whole.graph, 1
    while not _is_causal(whole, name, of_square=True):
        kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
        numbers = [whole.value(before) for before in inputs]
        if _moves_diagonal(graph, name):
            return 0
        if (
            kind in _PASSES
            or kind in ("NotEqual", "Greater")
            and numbers[1] == 0
            or kind == "Equal"
            and numbers[1] == 1
        ):
            name = inputs[0]
        elif kind == "LogicalNot" or kind == "Equal" and numbers[1] == 0:
            name, sign = inputs[0], -sign
        elif kind == "Sub" and numbers[0] == 1:
            name, sign = inputs[1], -sign
        else:
            return 0
    return sign


def _repeated_number(whole: WholeGraph, name: str) -> float | None:
    """The number of which all elements of a tensor are, as tf.fill and c * tf.ones_like make them."""
    graph = whole.graph
    kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
    if kind == "Fill":
        return whole.value(inputs[1])
    scaled = constant_factor(whole, name) if kind == "Mul" else None
    if scaled is not None and graph.type(scaled[0]) in ("OnesLike", "Fill", "Const"):
        return scaled[1]
    numbers = constant_array(graph, name)
    return float(np.ravel(numbers)[0]) if numbers is not None and np.unique(numbers).size == 1 else None


def multiplied_masks(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds softmaxes of scores that a mask multiplies, and that is not applied again behind; one hazard for all."""
    graph = whole.graph
    for softmax in _softmaxes(whole):
        scores = _past_scale(whole, graph.inputs(softmax)[0].node)
        factors = [tensor.node for tensor in graph.inputs(scores)] if graph.type(scores) == "Mul" else []
        masks = [node for node in factors if _words(whole, node) > 0 or _is_causal(whole, node)]
        if masks and not _is_masked_again(whole, softmax):
            what = "a later word" if _is_causal(whole, masks[0]) else "padding"
            yield Hazard(
                "MASK_BEFORE_SOFTMAX",
                softmax,
                f"{scores} multiplies scores by {masks[0]} before {softmax}: {what} gets the score 0, whose attention "
                "weight is not 0",
                "add a large negative number where the mask is 0; for parity keep the product",
            )
            return


def _softmaxes(whole: WholeGraph) -> list[str]:
    return whole.minimized_ops("Softmax")


def _past(graph: Graph, name: str) -> str:
    while graph.type(name) in ("Identity", "Reshape") and graph.inputs(name):
        name = graph.inputs(name)[0].node
    return name


def _past_scale(whole: WholeGraph, name: str) -> str:
    """The node that a number multiplies or divides, as the root of the scores' size does, perhaps reshaped."""
    graph = whole.graph
    while True:
        scaled = constant_factor(whole, name)
        if scaled is None and graph.type(name) not in ("Identity", "Reshape"):
            return name
        name = graph.inputs(name)[0].node if scaled is None else scaled[0]


def _is_causal(whole: WholeGraph, name: str, of_square: bool = False) -> bool:
    """Whether a node is a matrix of ones with zeros above its diagonal.

    Args:
      whole: the graph.
      name: of the node.
      of_square: whether it has as many columns as rows; further columns, as of a key for the end, are left.
    """
    graph = whole.graph
    while graph.type(name) in _PASSES and graph.inputs(name):
        if _moves_diagonal(graph, name):
            return False
        name = graph.inputs(name)[0].node
    if graph.type(name).startswith(("MatrixBandPart", "BatchMatrixBandPart")):
        ones = constant_array(graph, graph.inputs(name)[0].node) if of_square else None
        if ones is not None and ones.ndim > 1 and ones.shape[-1] != ones.shape[-2]:
            return False
        return [whole.value(tensor.node) for tensor in graph.inputs(name)[1:]] == [-1, 0]
    numbers = constant_array(graph, name)
    if numbers is None or numbers.ndim < 2 or numbers.shape[-1] < 2:
        return False
    if of_square and numbers.shape[-1] != numbers.shape[-2]:
        return False
    return bool(np.array_equal(numbers, np.broadcast_to(np.tri(*numbers.shape[-2:]), numbers.shape)))


def _moves_diagonal(graph: Graph, name: str) -> bool:
    """Whether a node exchanges the last two dimensions of a matrix, or takes a part of it that begins elsewhere."""
    numbers = [constant_array(graph, tensor.node) for tensor in graph.inputs(name)[1:]]
    if graph.type(name) == "Transpose":
        order = numbers[0]
        return order is None or order.size < 2 or order.ravel()[-2] > order.ravel()[-1]
    if graph.type(name) != "StridedSlice" or any(number is None for number in numbers):
        return False
    begins, strides = ([] if number is None else number.ravel().tolist() for number in (numbers[0], numbers[2]))
    mask = graph.nodes[name].attr["begin_mask"].i
    starts = [0 if mask >> place & 1 else begin for place, begin in enumerate(begins)]
    return any(stride != 1 for stride in strides) or len({*starts[-2:], *([0] if len(starts) < 2 else [])}) > 1


def _words(whole: WholeGraph, name: str) -> int:
    """1 of a mask that is 1 at the words and 0 at the padding, -1 of its opposite; 0 of anything else."""
    graph, sign, joined = whole.graph, 1, ""
    while True:
        kind, inputs = graph.type(name), [tensor.node for tensor in graph.inputs(name)]
        if kind in _PASSES and inputs:
            name = inputs[0]
        elif kind in ("Any", "All") and not joined:  # of a sentence, which is padding where all its words are
            name, joined = inputs[0], kind
        elif kind == "LogicalNot":
            name, sign = inputs[0], -sign
        elif kind == "Sub" and whole.value(inputs[0]) == 1:
            name, sign = inputs[1], -sign
        elif kind in ("NotEqual", "Equal", "Greater") and whole.value(inputs[1]) == 0 and _is_ids(whole, inputs[0]):
            if joined and joined != ("All" if kind == "Equal" else "Any"):
                return 0
            return 0 if _may_be_flags(whole, graph.inputs(name)[0]) else -sign if kind == "Equal" else sign
        elif (
            kind == "Less"
            and graph.type(_past(graph, inputs[0])) in ("Range", "ExpandDims")
            and _is_ids(whole, inputs[1])
        ):
            return sign  # tf.sequence_mask
        else:
            return 0


def _is_ids(whole: WholeGraph, name: str) -> bool:
    """Whether a node holds what data bring, and nothing that weights compute."""
    return name in whole.data and not whole.graph.ancestors([name], controls=False) & whole.trainable


def _may_be_flags(whole: WholeGraph, tensor: TensorId) -> bool:
    """Whether numbers that data bring may be flags, as 1 at the padding, or types of words, and no numbers of words.

    Words are looked up, and no other numbers in a larger table.
    """
    source = _entering(whole.graph, tensor)
    rows: dict[TensorId, int] = {}
    if not op_types.is_source(whole.graph.type(source.node)):
        return False
    for name in [name for name in whole.minimized_ops(*op_types.LOOKUPS) if not is_gradient_op(name)]:
        table, ids = whole.graph.inputs(name)[:2]
        variable = variable_read(whole.graph, table.node)
        if variable and ids.node in whole.data:
            sizes = variable_sizes(whole.graph, variable)
            taken = _entering(whole.graph, ids)
            rows[taken] = max(rows.get(taken, 0), *sizes[:1])
    return source not in rows or rows[source] < max(rows.values())


def _entering(graph: Graph, tensor: TensorId) -> TensorId:
    """The tensor of data whose elements, or some of them, a tensor holds."""
    while True:
        tensor = source_of_elements(graph, tensor)
        kind = graph.type(tensor.node)
        if kind not in op_types.PARTS:
            return tensor
        tensor = graph.inputs(tensor.node)[op_types.divided_input(kind)]


def _is_masked_again(whole: WholeGraph, softmax: str) -> bool:
    """Whether a mask multiplies the shares, too."""
    todo, graph = [softmax], whole.graph
    while todo:
        for user in [use.node for use in graph.users(todo.pop())]:
            if graph.type(user) in ("Identity", "Reshape"):
                todo.append(user)
            elif graph.type(user) == "Mul" and any(_words(whole, tensor.node) for tensor in graph.inputs(user)):
                return True
    return False
