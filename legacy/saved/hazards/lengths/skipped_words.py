"""Hazard of a model of the next word that is trained on the word after it, as where labels are shifted twice."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import hands_elements_on, key_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that move words along the times, or may.
_MOVES = ("Conv2D", "Conv3D", "Pad", "PadV2")


def words_skipped(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds labels x[:, 2:] beside words x[:, :-2] of one text, of which a table's rows are looked up; one for all.

    Not where other labels of the text are next to the words, as of several words ahead, or of a window around each.
    """
    graph = whole.graph
    begins: dict[Hashable, list[tuple[str, tuple[int, ...]]]] = {}
    for name in [name for name in whole.minimized_ops(*op_types.LOOKUPS) if not is_gradient_op(name)]:
        if variable_read(graph, graph.inputs(name)[0].node) in whole.trainable:
            text, begin = _part(whole, graph.inputs(name)[1])
            begins.setdefault(text, []).append((name, begin))
    entropies = [entropy for entropy in cross_entropies(whole) if not entropy.is_sigmoid]
    parts = [_part(whole, entropy.labels) for entropy in entropies]
    nearer = {text for text, last in parts for _, first in begins.get(text, []) if abs(_steps(first, last)) == 1}
    for entropy, (text, begin) in zip(entropies, parts):
        words = [first for name, first in begins.get(text, []) if _are_in_place(whole, name, entropy.logits.node)]
        ahead = {_steps(first, begin) for first in words}
        if ahead and min(ahead) > 1 and text not in nearer:
            yield Hazard(
                "WORDS_SKIPPED",
                entropy.op,
                f"the labels of {entropy.op} begin {min(ahead)} words behind the words of the same text that the model "
                "reads, where the next word is 1 behind: are they shifted twice?",
                "labels x[:, 1:] of words x[:, :-1]; for parity keep it",
            )
            return


def _are_in_place(whole: WholeGraph, words: str, logits: str) -> bool:
    """Whether logits are computed of words, and no convolution or slice between moves them along the times."""
    graph = whole.graph
    shapes = set(graph.of_types(*op_types.SHAPE_OPS))
    before = graph.ancestors([logits], stop=shapes, controls=False)
    between = graph.descendants([words], controls=False) & before - shapes
    return words in before and not any(_moves(whole, name) for name in between)


def _moves(whole: WholeGraph, name: str) -> bool:
    graph, kind = whole.graph, whole.graph.type(name)
    if kind not in op_types.SLICES:
        return kind in _MOVES
    begin = constant_array(graph, graph.inputs(name)[1].node)
    return not graph.nodes[name].attr["shrink_axis_mask"].i and (begin is None or bool(begin.any()))


def _part(whole: WholeGraph, tensor: TensorId) -> tuple[Hashable, tuple[int, ...]]:
    """(key of a text, the first places of a slice of it); without places of any other tensor."""
    graph = whole.graph
    while hands_elements_on(graph, tensor.node) and graph.inputs(tensor.node):
        tensor = graph.inputs(tensor.node)[0]
    if graph.type(tensor.node) not in op_types.SLICES:
        return key_of_elements(graph, tensor), ()
    numbers = constant_array(graph, graph.inputs(tensor.node)[1].node)
    attributes = graph.nodes[tensor.node].attr
    if numbers is None or attributes["shrink_axis_mask"].i or attributes["new_axis_mask"].i:
        return key_of_elements(graph, tensor), ()
    mask = attributes["begin_mask"].i
    begin = tuple(0 if mask >> axis & 1 else int(number) for axis, number in enumerate(numbers.ravel()))
    return key_of_elements(graph, graph.inputs(tensor.node)[0]), begin


def _steps(first: tuple[int, ...], last: tuple[int, ...]) -> int:
    """The number of times between slices [examples, times]; 0 of other examples, or where one counts from the end."""
    (example, time), (other, later) = ((*begin, 0, 0)[:2] for begin in (first, last))
    return later - time if example == other and min(time, later) >= 0 else 0
