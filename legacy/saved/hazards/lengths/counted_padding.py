"""Hazards of padding that counts: in attention, in a mean over the times, and in the final state of a loop."""

from __future__ import annotations

from collections.abc import Iterator

import tensorflow as tf

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.constants import constant_array
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.lengths.loop_outputs import (
    enters_loop,
    given_by,
    held_outputs,
    is_masked,
    is_outputs,
    length_masks,
    lengths_of_loop,
    lengths_of_mask,
    lengths_that_end_loop,
    named_lengths,
    outputs_behind_layers,
)
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op

_PRODUCTS = ("BatchMatMul", "BatchMatMulV2", "MatMul", "Mul")
_PASSES = ("Identity", "Reshape", "ExpandDims", "Transpose", "Squeeze")


def attended_padding(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds attention to the outputs of a loop with lengths whose scores no mask enters; one hazard for all."""
    for softmax, outputs in _attention(whole):
        lengths = next(filter(None, (lengths_of_loop(whole, name) for name in outputs)), "")
        if lengths and not is_masked(whole, whole.graph.inputs(softmax)[0].node, outputs):
            yield Hazard(
                "PADDING_ATTENDED",
                softmax,
                f"{softmax} gives attention weights to all outputs of an RNN with the sequence lengths "
                f"{named_lengths(whole, lengths)}, also to the padding, whose outputs are 0: the shorter an example "
                "is, the less weight its own outputs get",
                "add a large negative number to the scores of the padding; for parity keep them",
            )
            return


def attended_by_other_lengths(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds attention to the outputs of a loop with lengths, masked by those of another loop alone; one for all."""
    graph = whole.graph
    ends = [name for name in graph.nodes if is_outputs(graph, name) and not is_gradient_op(name)]
    for softmax, outputs in _attention(whole):
        own = set().union(*(given_by(whole, lengths_of_loop(whole, name) or name) for name in outputs))
        if not all(lengths_of_loop(whole, name) for name in outputs):
            continue
        before = graph.ancestors([graph.inputs(softmax)[0].node], stop=ends, controls=False)
        masks = [lengths for lengths in (lengths_of_mask(whole, name) for name in sorted(before)) if lengths]
        loops = [name for name in ends if name not in outputs and lengths_of_loop(whole, name)]
        of_others = set().union(*(given_by(whole, lengths_of_loop(whole, name)) for name in loops))
        if masks and all(given_by(whole, one) & of_others and not given_by(whole, one) & own for one in masks):
            yield Hazard(
                "LENGTHS_OF_ANOTHER",
                softmax,
                f"{softmax} gives attention weights to the outputs of an RNN with the sequence lengths "
                f"{named_lengths(whole, lengths_of_loop(whole, outputs[0]))}, and masks them by "
                f"{named_lengths(whole, masks[0])}, the lengths of other sequences: words are left out, and padding "
                "gets weights",
                "mask by the lengths of the sequences that are attended to; for parity keep the mask",
            )
            return


def averaged_padding(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds means over the times of outputs of a loop with lengths; one hazard for all."""
    graph = whole.graph
    for name in whole.minimized_ops("Mean"):
        axes = constant_array(graph, graph.inputs(name)[1].node)
        if is_gradient_op(name) or axes is None or axes.ravel().tolist() not in ([0], [1]):
            continue
        outputs = held_outputs(whole, graph.inputs(name)[0].node)
        lengths = next(filter(None, (lengths_of_loop(whole, held) for held in outputs)), "")
        if lengths and not _is_scaled(whole, name, lengths):
            yield Hazard(
                "PADDING_AVERAGED",
                name,
                f"{name} is a mean over all time steps of an RNN with the sequence lengths "
                f"{named_lengths(whole, lengths)}, whose outputs are 0 in the padding: the shorter an example is, the "
                "smaller its mean is",
                "divide the sum by the sequence lengths; for parity keep the mean",
            )
            return


def _is_scaled(whole: WholeGraph, mean: str, lengths: str) -> bool:
    """Whether a product or quotient with what the lengths give follows from a mean."""
    sources = given_by(whole, lengths)
    for user in [use.node for use in whole.graph.users(mean)]:
        others = [tensor.node for tensor in whole.graph.inputs(user) if tensor.node != mean]
        if whole.graph.type(user) in ("Mul", "Div", "RealDiv") and any(given_by(whole, o) & sources for o in others):
            return True
    return False


def states_behind_padding(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds final states of loops without lengths whose outputs are masked by lengths, or their losses; one for all.

    A loop that is given the mask, or the lengths by itself, may keep its state at the padding; so may a decoder that
    runs up to the longest length.
    """
    for masking, outputs, lengths in [*_masked_attention(whole), *_masked_losses(whole)]:
        if len(outputs) != 1 or lengths_of_loop(whole, outputs[0]) or enters_loop(whole, lengths):
            continue
        if lengths_that_end_loop(whole, outputs[0]):
            continue
        state = _final_state(whole, outputs[0])
        if state:
            yield Hazard(
                "STATE_BEHIND_PADDING",
                state,
                f"{state} is the final state of an RNN without sequence lengths over padded sequences, and {masking} "
                f"masks its outputs by {named_lengths(whole, lengths)}: the state of each shorter example has read "
                "the padding",
                "pass sequence_length to the RNN, too; for parity keep it",
            )
            return


def _masked_attention(whole: WholeGraph) -> Iterator[tuple[str, list[str], str]]:
    """Yields (softmax, outputs of loops that it weighs, lengths by which its scores are masked)."""
    graph = whole.graph
    ends = [name for name in graph.nodes if is_outputs(graph, name)]
    for softmax, outputs in _attention(whole):
        masks = graph.ancestors([graph.inputs(softmax)[0].node], stop=ends, controls=False)
        lengths = next(filter(None, (lengths_of_mask(whole, name) for name in sorted(masks))), "")
        if lengths:
            yield softmax, outputs, lengths


def _masked_losses(whole: WholeGraph) -> Iterator[tuple[str, list[str], str]]:
    """Yields (product, outputs of loops, lengths) of cross entropies by position that a mask multiplies."""
    for entropy in cross_entropies(whole):
        for product, lengths in length_masks(whole, entropy.op):
            yield product, outputs_behind_layers(whole, entropy.logits.node), lengths


def _attention(whole: WholeGraph) -> Iterator[tuple[str, list[str]]]:
    """Yields (softmax, the outputs of loops that it weighs) of attention in a loss."""
    graph = whole.graph
    for softmax in [name for name in whole.minimized_ops("Softmax") if not is_gradient_op(name)]:
        todo, seen = [softmax], {softmax}
        while todo:
            name = todo.pop()
            for user in [use.node for use in graph.users(name) if use.node in whole.minimized]:
                others = [tensor.node for tensor in graph.inputs(user) if tensor.node != name]
                if graph.type(user) in _PRODUCTS and not is_gradient_op(user):
                    outputs = [held for other in others for held in held_outputs(whole, other)]
                    if outputs:
                        yield softmax, outputs
                elif (graph.type(user) in _PASSES or _adds_dimension(graph, user)) and user not in seen:
                    seen.add(user)
                    todo.append(user)


def _adds_dimension(graph: Graph, name: str) -> bool:
    """Whether a node is x[..., None]."""
    return graph.type(name) == "StridedSlice" and bool(graph.nodes[name].attr["new_axis_mask"].i)


def _final_state(whole: WholeGraph, outputs: str) -> str:
    """A final state of the loop that made some outputs, which a loss depends on by itself; "" if none is."""
    graph = whole.graph
    flow = next((t.node for t in graph.inputs(outputs) if graph.type(t.node) in ("Exit", "RefExit")), "")
    frame = _scope(flow)
    exits = whole.minimized_ops("Exit", "RefExit")
    for name in [name for name in exits if tf.as_dtype(graph.nodes[name].attr["T"].type).is_floating]:
        users = {use.node for use in graph.users(name)} & whole.minimized
        users = {user for user in users if not is_gradient_op(user)}
        is_state = name != flow and _scope(name) == frame and users and not any(is_outputs(graph, u) for u in users)
        is_state = is_state and not all(graph.type(user).startswith("TensorArray") for user in users)
        if is_state and _is_used(graph, name, whole.minimized):
            return name
    return ""


def _scope(name: str) -> str:
    return name.rpartition("/")[0]


def _is_used(graph: Graph, name: str, members: set[str]) -> bool:
    """Whether an op other than a size or a copy takes a node."""
    users = [use.node for use in graph.users(name) if use.node in members and not is_gradient_op(use.node)]
    return any(
        _is_used(graph, user, members) if graph.type(user) == "Identity" else graph.type(user) not in ("Shape", "Size")
        for user in users
    )
