"""`AnalysedStep`: a training step's plan and graph, with the queries that several sections of facts share."""

from __future__ import annotations

from collections.abc import Iterable

from legacy.saved.analysis import updates_by_hand
from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.loss_scale import may_be_its_own
from legacy.saved.facts.clipping import Clippings
from legacy.saved.graph import op_types
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.plan import Effect, Phase, Plan, TensorType


class AnalysedStep:
    """One analysis, with the queries that the sections on learning share.

    Args:
      found: the analysis.

    Attributes:
      plan, graph, context: of the analysis; the graph is cut to a training step.
      whole: the graph that it was cut from.
      phases: of the plan, each train op once: a period may run one several times.
      imported: the graph in TensorFlow, which knows types, shapes and constants.
      rules: nodes that are update rules.
      accumulators: variables that keep gradients between runs.
      cutter: cuts functions out of the graph.
      clippings: finds clipping in the graph.
      tower_ends: the towers' nodes whose outputs are combined.
      positions: {node: its position in the graph}.
    """

    def __init__(self, found: Analysis) -> None:
        self.plan, self.graph, self.context = found.plan, found.cut.graph, found.context
        self.whole = found.whole
        first: dict[str, Phase] = {}
        for phase in self.plan.phases:
            first.setdefault(phase.train_op, phase)
        self.phases = list(first.values())
        self.imported, self.rules = found.context.imported, found.context.state.rules
        slots = {variable.name for variable in self.plan.variables if variable.role == "slot"}
        self.accumulators = set(found.context.accumulators) - slots
        shapes = {variable.name: TensorType(variable.dtype, variable.shape) for variable in self.plan.variables}
        self.cutter = Cutter(self.graph, self.plan.aliases, shapes, self._signature, {})
        self.clippings = Clippings(self.graph)
        combines = [combine for phase in self.plan.phases for combine in phase.combine]
        self.tower_ends = {parse_tensor_name(n).node for one in combines for tower in one.parts for n in tower}
        self.positions = {name: position for position, name in enumerate(self.graph.nodes)}

    def _signature(self, tensor: str) -> TensorType:
        name, output = parse_tensor_name(tensor)
        return TensorType(self.imported.dtype(name, output), self.imported.shape(name, output))

    def between(self, ends: Iterable[str], starts: Iterable[str]) -> set[str]:
        """Returns the nodes that compute the tensors `ends` from the tensors `starts`."""
        stop = {parse_tensor_name(name).node for name in starts}
        return self.graph.ancestors([parse_tensor_name(name).node for name in ends], stop, controls=False) - stop

    def may_be_its_own(self, phase: Phase) -> bool:
        """Returns whether a factor of 1/N on each tower's loss may stand for something else than the N towers."""
        loss = parse_tensor_name(phase.losses[0]).node if phase.losses and not phase.shared_loss else ""
        return bool(loss) and may_be_its_own(self.graph, self.context.data, loss, self.plan.towers)

    def learning_rate(self, effect: Effect) -> str | None:
        """Returns the tensor that an update takes as learning rate; of one written by hand, the scalar factor."""
        if effect.learning_rate or effect.node not in self.rules or op_types.is_apply(effect.op):
            return effect.learning_rate
        return updates_by_hand.learning_rate(self.context, effect)

    def addend(self, effect: Effect) -> float | None:
        """Returns the constant that an update adds to a variable; None for others."""
        return updates_by_hand.addend(self.context, effect)

    def is_counter(self, variable: str) -> bool:
        """Whether a variable is a counter: see `is_counter` below; or every step assigns it itself plus a constant."""
        effects = [e for phase in self.plan.phases for e in phase.effects if variable in e.writes]
        by_hand = bool(effects) and all(self.addend(effect) is not None for effect in effects)
        return is_counter(self.plan, variable) or (by_hand and self.context.state.variables[variable].shape == [])

    def is_changed(self, variable: str) -> bool:
        """Whether a step changes a variable."""
        return any(variable in effect.writes for phase in self.plan.phases for effect in phase.effects)


def is_counter(plan: Plan, variable: str) -> bool:
    """Returns whether a variable is a counter: a scalar that steps only add to, or an integer that no step changes."""
    found = next((entry for entry in plan.variables if entry.name == variable), None)
    if found is None or found.shape != []:
        return False
    ops = {effect.op for phase in plan.phases for effect in phase.effects if variable in effect.writes}
    return found.dtype.startswith("int") if not ops else ops <= set(op_types.ADDS)
