"""Hazards of random changes of examples, or of results, that nothing uses, as of an augmentation in a lost name."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.dropout import dropped_from
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.weighed_values import made_by_weights

#: Ops by which a random change of an example ends: masks, noise, flips and crops.
_CHANGES = (
    *("Mul", "Add", "AddV2", "Sub", "ReverseV2", "Select", "SelectV2", "Slice", "Merge", "ClipByValue"),
    *("Minimum", "Maximum", "Identity", "Reshape", "AdjustContrastv2"),
)


def unused_changes_of_examples(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds examples that random numbers change, where no op takes the result, and a loss takes them as they were."""
    graph, drawn = whole.graph, _drawn(whole)
    changes = [name for name in _ends(whole) if name in drawn and graph.type(name) in _CHANGES]
    for name in [name for name in changes if name not in made_by_weights(whole)]:
        taken = [
            tensor for tensor in graph.inputs(name) if tensor.node in whole.minimized and tensor.node in whole.data
        ]
        taken = [tensor for tensor in taken if _is_of_source(whole, tensor.node)]
        if taken and taken[0].node not in drawn and not _is_changed_elsewhere(whole, taken[0].node, drawn):
            yield Hazard(
                "AUGMENTATION_UNUSED",
                name,
                f"{name} ({graph.type(name)}) changes {taken[0].node} by random numbers, and no op uses the result: "
                f"the loss is computed from {taken[0].node} itself",
                "a port without this change trains the same; if it was meant, use its result",
            )
            return


def unused_masks_of_results(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds results of layers times a random mask that keeps a share, where a loss takes the results as they were.

    Ops that are named for dropout are another check's.
    """
    for name in _ends(whole):
        values = dropped_from(whole, name) if "drop" not in name.lower() else []
        if values and values[0] in whole.minimized and values[0] in made_by_weights(whole):
            yield Hazard(
                "DROPOUT_UNUSED",
                name,
                f"{name} drops parts of {values[0]} at random, and no op uses the result: the loss is computed from "
                f"{values[0]} itself",
                "a port without this dropout trains the same; if it was meant, use its result",
            )
            return


def _drawn(whole: WholeGraph) -> set[str]:
    """The nodes that depend on random numbers."""
    random = whole.graph.of_kind(op_types.is_random)
    return whole.graph.descendants(random, controls=False)


def _is_changed_elsewhere(whole: WholeGraph, name: str, drawn: Collection[str]) -> bool:
    """Whether a loss takes examples as random numbers change them, so that others may be for display."""
    users = {use.node for use in whole.graph.users(name) if use.node in whole.minimized - made_by_weights(whole)}
    return not users.isdisjoint(drawn)


def _ends(whole: WholeGraph) -> list[str]:
    """Nodes that no node follows, and that no train op runs."""
    graph = whole.graph
    ends = [name for name in graph.nodes if name in whole.data and name not in whole.members]
    return [name for name in ends if not graph.users(name) and not graph.after(name)]


def _is_of_source(whole: WholeGraph, name: str) -> bool:
    return any(op_types.is_source(whole.graph.type(node)) for node in whole.graph.ancestors([name]))
