"""Inputs whose first dimension is as long as a batch by chance: the towers' batches could have another size."""

from __future__ import annotations

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.inputs.other_batches import known_with_another_batch
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.made_up_data import part_of_whole
from workloads.lifted.plan import Input


def has_rows_of_its_own(found: Analysis, entry: Input) -> bool:
    """Tells whether the rows of an input that towers share are no examples, as of a matrix that is fed for a target.

    So it is where the losses could be computed with batches of another size beside the same input, which meets them
    before any weight: then none of its dimensions is that of the examples.

    Args:
      found: the analysis.
      entry: an input of which all towers take the same tensor, as long as a batch.

    Returns:
      Whether that is certain; False where a size is written into the graph, or a shape is not known.
    """
    plan, graph = found.plan, found.cut.graph
    own = [other for other in plan.inputs if other.kind == "batch" and (other.shape or [None])[0] == plan.batch]
    losses = [parse_tensor_name(loss).node for phase in plan.phases for loss in phase.losses]
    if plan.batch is None or not own or not losses or not all(name in graph.nodes for name in losses):
        return False
    needed, shared = graph.ancestors(losses, controls=False), parse_tensor_name(entry.tensors[0]).node
    of_batch = graph.descendants([parse_tensor_name(name).node for one in own for name in one.tensors], controls=False)
    alone = graph.descendants([shared], controls=False, stop=of_batch) & needed - of_batch
    if alone & graph.descendants(found.trained, controls=False):
        return False  # a model of its own, as of examples without labels beside those with labels
    known = known_with_another_batch(found, own, needed, plan.batch)
    return bool(known) and graph.descendants([shared], controls=False) & needed <= known


def is_numbers_beside_parts(found: Analysis, entry: Input) -> bool:
    """Tells whether losses take single numbers alone of a batch of which each tower has a part, as the sum of a mask.

    Args:
      found: the analysis.
      entry: an input of which all towers take the same tensor.

    Returns:
      Whether the towers' parts of it are inputs, and it is reduced to a number before it meets any trained variable.
    """
    plan, graph, imported = found.plan, found.cut.graph, found.context.imported
    losses = [parse_tensor_name(loss).node for phase in plan.phases for loss in phase.losses]
    if part_of_whole(entry, plan.inputs) is None or not all(name in graph.nodes for name in losses):
        return False
    needed = graph.ancestors(losses, controls=False)
    parts = {parse_tensor_name(name).node for one in plan.inputs if one is not entry for name in one.tensors}
    numbers = {name for name in needed if imported.shape(name) == ()}
    shared = parse_tensor_name(entry.tensors[0]).node
    values = graph.descendants([shared], controls=False, stop=parts | numbers) & needed - parts - numbers
    return not values & graph.descendants(found.trained, controls=False)
