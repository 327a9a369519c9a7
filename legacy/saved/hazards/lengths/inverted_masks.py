"""Hazard of a loss that a mask of lengths leaves only in the padding, as of one minus the mask."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import hands_elements_on, source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.lengths.kept_labels import only_users
from legacy.saved.hazards.lengths.loop_outputs import lengths_of_mask, named_lengths
from workloads.lifted.graph import ENTERS, TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op


def losses_of_padding(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cross entropies that nothing but 1 - mask multiplies, of the mask of sequences' lengths; one for all.

    A mask of what is given, as of a text that is to be continued, may be left out so: lengths are those of whole
    sequences where a loop stops by them, or a sum of the mask itself counts the words.
    """
    for entropy in cross_entropies(whole):
        kept = [_inverted(whole, product) for product in only_users(whole, entropy.op)]
        if kept and "" not in kept and _are_ends(whole, kept[0]):
            yield Hazard(
                "LOSS_OF_PADDING",
                entropy.op,
                f"{entropy.op} counts only behind the end of each sequence, by one minus the mask of the lengths "
                f"{named_lengths(whole, kept[0])}: the padding trains, and no position of a sequence does",
                "multiply by the mask itself; for parity keep it",
            )
            return


def _are_ends(whole: WholeGraph, lengths: str) -> bool:
    """Whether a loop takes lengths, or a sum counts what their mask keeps."""
    graph, source = whole.graph, source_of_elements(whole.graph, TensorId(lengths, 0))
    todo, seen = [source.node], {source.node}
    sums = [graph.inputs(name)[0] for name in whole.minimized_ops("Sum") if not is_gradient_op(name)]
    for kept, is_opposite in [_source_of_mask(whole, one) for one in sums]:
        if kept and not is_opposite and source_of_elements(graph, TensorId(kept, 0)) == source:
            return True
    while todo:
        for user in {use.node for use in graph.users(todo.pop()) if use.node in whole.minimized} - seen:
            if graph.type(user) in ENTERS:
                return True
            if hands_elements_on(graph, user):
                seen.add(user)
                todo.append(user)
    return False


def _inverted(whole: WholeGraph, product: str) -> str:
    """The lengths of a mask by whose opposite a node multiplies; "" of any other node."""
    if whole.graph.type(product) != "Mul":
        return ""
    return next(filter(None, (_lengths(whole, tensor) for tensor in whole.graph.inputs(product))), "")


def _lengths(whole: WholeGraph, mask: TensorId) -> str:
    """The lengths of an inverted mask; "" of a mask as it is."""
    lengths, is_opposite = _source_of_mask(whole, mask)
    return lengths if is_opposite else ""


def _source_of_mask(whole: WholeGraph, mask: TensorId) -> tuple[str, bool]:
    """(lengths, whether the mask is inverted) of a mask of lengths; "" as those of any other tensor."""
    graph, is_opposite = whole.graph, False
    while True:
        mask = source_of_elements(graph, mask)
        kind, inputs = graph.type(mask.node), graph.inputs(mask.node)
        if kind == "LogicalNot" or (kind == "Sub" and whole.value(inputs[0].node) == 1):
            mask, is_opposite = inputs[-1], not is_opposite
        else:
            return lengths_of_mask(whole, mask.node), is_opposite
