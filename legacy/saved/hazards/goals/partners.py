"""Hazard of a contrastive loss over two joined views of a batch whose labels name other rows than the other view's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph.joins import join_of
from legacy.saved.hazards.basics.cross_entropies import cross_entropies
from legacy.saved.hazards.basics.elements import source_of_elements
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.linear_weights import linear_weights
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.graph import TensorId


def partners_in_other_rows(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds products z z' of rows of n examples and n others, whose labels are not those n rows away; one for all."""
    graph, imported = whole.graph, found.context.imported
    for entropy in [one for one in cross_entropies(whole) if one.op in found.cut.graph.nodes and not one.is_sigmoid]:
        given = source_of_elements(graph, entropy.labels)
        labels = None if given.node in whole.data else imported.constant(*given)
        if labels is None or labels.ndim != 1 or labels.size % 2:
            continue
        count, places = labels.size // 2, np.arange(labels.size)
        for name in linear_weights(whole, entropy.logits.node):
            rows = _compared_with_themselves(whole, name)
            views = _joined_views(whole, found, rows, count) if rows is not None else ""
            if not views or (labels == (places + count) % labels.size).all():
                continue
            what = "each row's own place" if (labels == places).all() else "other rows than those of the same examples"
            yield Hazard(
                "PARTNER_IN_ANOTHER_ROW",
                entropy.op,
                f"{entropy.op} compares all rows of {views}, which joins two views of {count} examples, and "
                f"its labels name {what}: the partner of row i is row i + {count}",
                "labels [n, ..., 2 n - 1, 0, ..., n - 1]; for parity keep them",
            )
            return


def _compared_with_themselves(whole: WholeGraph, name: str) -> TensorId | None:
    """The rows z of a product z z'; None of any other node."""
    graph = whole.graph
    if graph.type(name) != "MatMul" or not graph.nodes[name].attr["transpose_b"].b:
        return None
    first, second = (graph.origin(tensor) for tensor in graph.inputs(name)[:2])
    return first if first == second and first.node in made_by_weights(whole) else None


def _joined_views(whole: WholeGraph, found: Analysis, rows: TensorId, count: int) -> str:
    """The op that joins two batches of some count of the same examples, from which rows are computed; "" if none."""
    graph, imported = whole.graph, found.context.imported
    for name in sorted(graph.ancestors([rows.node], controls=False) & whole.data & set(found.cut.graph.nodes)):
        join = join_of(graph, name)
        if join is None or len(join.parts) != 2 or whole.value(join.axis.node) != 0:
            continue
        shapes = [imported.shape(*tensor) for tensor in join.parts]
        first, second = (graph.ancestors([tensor.node], controls=False) & whole.data for tensor in join.parts)
        if all(shape is None or shape[0] in (None, count) for shape in shapes) and first & second:
            return name
    return ""
