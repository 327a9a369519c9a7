"""Hazard of an accuracy that compares predictions with labels of other examples, as by a loop's last variable."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.data.dealt_apart import are_other_rows, dealt_part, parts_of_model
from workloads.lifted.graph import TensorId


def labels_of_other_predictions(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds accuracies that compare what one part of an input gives with another part of the labels; one for all."""
    for op, predictions, labels in _accuracies(whole) if whole.count > 1 else []:
        part, examples = dealt_part(whole, labels), parts_of_model(whole, predictions)
        if part is not None and examples is not None and are_other_rows(whole, part, examples):
            yield Hazard(
                "INPUTS_NOT_PAIRED",
                op,
                f"{op} counts where predictions from {examples.text()} equal {part.text()}: an accuracy of examples "
                "with the labels of others",
                "compute predictions and accuracy in the replica, from its own examples and labels, and reduce it",
            )
            return


def _accuracies(whole: WholeGraph) -> Iterator[tuple[str, TensorId, TensorId]]:
    """Yields (op, predictions, labels) of comparisons of classes that no loss is computed from."""
    graph = whole.graph
    for name in [name for name in graph.nodes if name in whole.data and name not in whole.minimized]:
        if graph.type(name) in ("InTopK", "InTopKV2"):
            yield name, graph.inputs(name)[0], graph.inputs(name)[1]
        elif graph.type(name) == "Equal":
            first, second = graph.inputs(name)[:2]
            yield name, first, second
            yield name, second, first
