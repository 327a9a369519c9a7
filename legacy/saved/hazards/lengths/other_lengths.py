"""Hazards of losses with other lengths than those of the sequences: those of others, or all time steps."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.lengths.loop_outputs import (
    given_by,
    is_outputs,
    length_masks,
    lengths_of_loop,
    named_lengths,
    outputs_behind_layers,
)
from workloads.lifted.tensors.gradient_names import is_gradient_op


def masked_by_other_lengths(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds cross entropies of a loop with lengths, times a mask of the lengths of another loop; one hazard for all."""
    graph = whole.graph
    gathered = [name for name in graph.nodes if is_outputs(graph, name) and not is_gradient_op(name)]
    for entropy in cross_entropies(whole):
        loops = outputs_behind_layers(whole, entropy.logits.node)
        own = [lengths for lengths in (lengths_of_loop(whole, name) for name in loops) if lengths]
        if not own or len(own) < len(loops):
            continue
        for product, lengths in length_masks(whole, entropy.op):
            sources = set().union(*(given_by(whole, name) for name in own))
            others = [name for name in gathered if name not in loops]
            of_others = {source for name in others for source in given_by(whole, lengths_of_loop(whole, name) or name)}
            if not given_by(whole, lengths) & sources and given_by(whole, lengths) & of_others:
                yield Hazard(
                    "LENGTHS_OF_ANOTHER",
                    product,
                    f"{product} masks the losses of an RNN with the sequence lengths {named_lengths(whole, own[0])} "
                    f"by {named_lengths(whole, lengths)}, the lengths of other sequences: words are left out, and "
                    "padding is counted",
                    "mask by the lengths of the predicted sequences; for parity keep the mask",
                )
                return


def all_times_of_ctc(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds CTC losses over all time steps of an RNN with sequence lengths, given constants for lengths; one."""
    graph = whole.graph
    for name in whole.minimized_ops("CTCLoss", "CTCLossV2"):
        loops = outputs_behind_layers(whole, graph.inputs(name)[0].node)
        lengths = next(filter(None, (lengths_of_loop(whole, loop) for loop in loops)), "")
        given = graph.ancestors([graph.inputs(name)[3].node], controls=False)
        if lengths and not any(op_types.is_source(graph.type(node)) for node in given):
            yield Hazard(
                "LENGTHS_NOT_OF_LOSS",
                name,
                f"{name} takes all time steps of every example, by {graph.inputs(name)[3].node}, while the RNN before "
                f"it has the sequence lengths {named_lengths(whole, lengths)}: the loss includes the padding",
                "pass the same lengths to the loss; for parity keep it",
            )
            return
