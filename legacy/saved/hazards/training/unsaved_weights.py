"""Hazard of checkpoints without weights, as of a Saver that is made before the model."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.partitions import SAVERS
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.support.wording import FEW, listed


def weights_that_are_not_saved(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a graph whose Savers save numbers alone, such as a step counter and a learning rate, and no weight.

    `tf.train.Saver()` takes the variables that there are when it is made. One that is given layers to restore saves
    tensors, and a graph without a Saver is of a program that keeps its weights in another way.
    """
    graph = whole.graph
    savers = graph.of_types(*SAVERS)
    before = graph.ancestors(savers, controls=False) if savers else set()
    saved = sorted(name for name in before if graph.type(name) in op_types.VARIABLES)
    updated = {whole.variable_of(apply) for apply in whole.applies} & whole.trainable
    if not saved or not all(map(whole.is_scalar, saved)) or not updated.isdisjoint(saved):
        return
    if all(whole.is_scalar(name) for name in updated if name is not None):
        return
    yield Hazard(
        "WEIGHTS_NOT_SAVED",
        savers[0],
        f"the Savers of the graph save {listed(saved, FEW)}, and none of the {len(updated)} variables that are "
        "trained, as where a Saver is made before the model: its checkpoints have no weights",
        "make the Saver when all variables are there; a port needs the weights from elsewhere, such as a recording",
    )
