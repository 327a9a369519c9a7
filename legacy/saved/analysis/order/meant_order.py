"""The order that the author of a graph most likely meant where a read races with an update."""

from __future__ import annotations

from legacy.saved.analysis.order.step_flow import StepFlow
from legacy.saved.graph.variables import VariableUses
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op


class MeantOrder:
    """Tells on which side of an update its author most likely meant a read to be.

    Args:
      graph: the cut graph.
      state: its variables, and the nodes that read and update them.
      flow: paths of the graph.
      depends_on_data: nodes whose value depends on the step's data or random numbers, or that a loss is made of.
    """

    def __init__(self, graph: Graph, state: VariableUses, flow: StepFlow, depends_on_data: set[str]) -> None:
        self._graph, self._state, self._flow, self._depends_on_data = graph, state, flow, depends_on_data
        self._rules = flow.bits(state.rules)
        taken = {producer for rule in state.rules for producer, _ in graph.inputs(rule)}
        self._computed_with = graph.ancestors(taken, stop=set(flow.effects), controls=False)
        self._computed: dict[str, set[str]] = {}

    def is_after(self, updates: list[str], index: int, reader: str) -> bool:
        """Tells whether a read that races with an update is most likely meant to come after it.

        A read belongs to the step's computation, which starts from the variables' values at the beginning of the step,
        with two exceptions:

        - A later update of the same variable is computed from it: two towers that update one statistic take turns. This
          does not hold of a read that gradients depend on, too, as where batch renormalization corrects by a moving
          mean, or that another variable's update is computed from, as in the layers behind a batch norm of TensorFlow
          0.12, whose moments are shifted by the moving mean; of one in a gradient graph, or that an update rule is
          computed from, where weights are decayed besides; or where the later update only waits for it, as for a decay
          that is computed from a step counter.
        - A moving average reads a weight that nothing orders against its update: it mostly sees the new weight.

        Args:
          updates: the update ops of the variable, in their order.
          index: number of the one that the read races with.
          reader: the node that reads.

        Returns:
          Whether it comes after the update; if not, before.
        """
        rules = self._state.rules
        depends_on_data = reader in self._depends_on_data or is_gradient_op(reader)
        behind = self._flow.effects_behind[reader]
        computed_with = depends_on_data if rules.intersection(updates) else reader in self._computed_with
        later = [update for update in updates[index + 1 :] if update not in rules]
        if not computed_with and any(self._is_computed_from(update, reader) for update in later):
            return not (depends_on_data and self._leads_to_others(updates, reader))
        return updates[index] in rules and not depends_on_data and not behind & self._rules

    def _leads_to_others(self, updates: list[str], reader: str) -> bool:
        """Whether an update of another variable than these change is computed from a node, by way of no update."""
        behind = self._graph.descendants([reader], stop=self._state.writes, controls=False)
        return any(name in self._state.writes and name not in updates for name in behind & self._flow.members)

    def _is_computed_from(self, update: str, reader: str) -> bool:
        """Whether an update op reads a variable itself, or gets what a node computes from it."""
        if not self._flow.effects_behind[reader] & self._flow.bit[update]:
            return reader == update
        if reader not in self._computed:
            self._computed[reader] = self._graph.descendants([reader], controls=False)
        return update in self._computed[reader]
