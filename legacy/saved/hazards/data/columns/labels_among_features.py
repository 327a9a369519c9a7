"""Hazard of a label that is also one of the features."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.variable_reads import variable_read
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from legacy.saved.hazards.data.columns.columns import Column, columns_of
from workloads.lifted.graph import TensorId
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Random numbers that are added to results, as of an autoencoder that draws its codes.
_DRAWN = ("RandomStandardNormal", "TruncatedNormal")


def labels_among_features(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds losses whose only target is a column that the first layer takes besides others; one hazard for all.

    A loss that compares results with several columns, as an autoencoder's or one that wants a feature kept, has a
    reason to take them.
    """
    labels: list[tuple[Column, str, str]] = []
    for prediction, target in _comparisons(whole, found):
        column = _label(found, target)
        layer = _layer_that_takes(whole, found, prediction, column) if column is not None else ""
        if column is None or not layer:
            return
        labels.append((column, target.node, layer))
    if labels and len({column.place for column, _, _ in labels}) == 1:
        column, label, first = labels[0]
        yield Hazard(
            "LABEL_AMONG_FEATURES",
            first,
            f"{first} takes column {column.place} of {column.table.node} as a feature, and {label}, which the loss "
            "compares with the prediction, is that column: the model is given its label",
            "leave the column out of the features; for parity keep it",
        )


def _comparisons(whole: WholeGraph, found: Analysis) -> Iterator[tuple[TensorId, TensorId]]:
    """(prediction, target) of each error, of each cross entropy, and of products with columns, as in a hinge."""
    graph, imported = found.cut.graph, found.context.imported
    for name in [name for name in whole.minimized_ops("Sub", "SquaredDifference", "Mul") if name in graph.nodes]:
        sides = graph.inputs(name) if not is_gradient_op(name) else []
        made = [side for side in sides if side.node in made_by_weights(whole) and side.node in whole.data]
        given = [side for side in sides if side.node in whole.data and side.node not in made_by_weights(whole)]
        is_error = graph.type(name) != "Mul"
        if len(made) == len(given) == 1 and (is_error or columns_of(graph, imported, given[0])):
            yield made[0], given[0]
    for entropy in [one for one in cross_entropies(whole) if one.op in graph.nodes]:
        if entropy.labels.node not in made_by_weights(whole):
            yield entropy.logits, entropy.labels


def _label(found: Analysis, target: TensorId) -> Column | None:
    """The one column that a target is, perhaps as codes of its classes; None of any other target."""
    graph = found.cut.graph
    # A source as a whole is no column; the analysed graph has other nodes in place of its outputs.
    if target.node not in graph.nodes or op_types.is_source(graph.type(target.node)):
        return None
    source = source_of_elements(graph, target)
    coded = graph.inputs(source.node)[0] if graph.type(source.node) == "OneHot" else target
    columns = columns_of(graph, found.context.imported, coded)
    return columns[0] if len(columns) == 1 else None


def _layer_that_takes(whole: WholeGraph, found: Analysis, prediction: TensorId, column: Column) -> str:
    """The layer of plain weights by which a prediction depends on a column and on others; "" if there is none."""
    graph = found.cut.graph
    before = graph.ancestors([prediction.node], controls=False)
    if any(graph.type(name) in _DRAWN for name in before):
        return ""
    for name in [name for name in graph.of_types(*op_types.MATRIX_PRODUCTS) if name in before]:
        rows, weights = graph.inputs(name)[:2]
        if rows.node in made_by_weights(whole) or variable_read(graph, weights.node) not in whole.trainable:
            continue
        columns = columns_of(graph, found.context.imported, rows)
        if column in columns and len(columns) > 1:
            return name
    return ""
