"""`LabelledStep`: the graph of one step with its variables and towers, as the functions that divide it take it."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, NamedTuple, Set

if TYPE_CHECKING:
    from legacy.saved.analysis.order.ordering import Order
    from legacy.saved.graph.imported import ImportedGraph
    from legacy.saved.graph.variables import VariableUses
    from legacy.saved.tower_search.towers import Towers
    from workloads.lifted.graph import Graph, TensorId


class LabelledStep(NamedTuple):
    """A step that is to be divided.

    Attributes:
      graph: the cut graph.
      imported: the same graph as TensorFlow imports it.
      state: its variables.
      towers: the towers, and the nodes that depend on each.
      members: nodes that the step runs.
      order: the order of the step's reads and updates.
      losses: tensors that the towers compute besides.
    """

    graph: Graph
    imported: ImportedGraph
    state: VariableUses
    towers: Towers
    members: Set[str]
    order: Order
    losses: List[TensorId]
