"""`AnalysedStep`: a training step's plan and graph, with the queries that several sections of facts share."""

from __future__ import annotations

from collections.abc import Iterable

from legacy.saved.analysis import updates_by_hand
from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.loss_scale import may_be_its_own, sizes_of_inputs
from legacy.saved.analysis.reduction.reduction_probe import ReductionProbe
from legacy.saved.facts.basics.clipping import Clippings
from legacy.saved.facts.basics.tower_numbers import tower_numbers
from legacy.saved.graph import op_types
from legacy.saved.tower_search.towers import owners
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.plan import Effect, Phase, TensorType, effects_by_variable
from workloads.lifted.tensors.gradient_names import in_gradient_graphs


class AnalysedStep:
    """One analysis, with the queries that the sections on learning share.

    Args:
      found: the analysis.

    Attributes:
      plan, graph, context: of the analysis; the graph is cut to a training step.
      whole: the graph that it was cut from.
      phases: of the plan, each train op once: a period may run one several times.
      imported: the graph in TensorFlow, which knows types, shapes and constants.
      rules: nodes that are update rules; a change of the rows that a gradient has, by their own values, is none.
      accumulators: variables that keep gradients between runs.
      cutter: cuts functions out of the graph.
      clippings: finds clipping in the graph.
      tower_ends: the towers' nodes whose outputs are combined.
      positions: {node: its position in the graph}.
      tower_nodes: {node: the only tower that it depends on}.
      probe: recognises how the towers' gradients are combined.
      numbers: the towers' numbers in the old graph, where some of its towers train nothing.
    """

    def __init__(self, found: Analysis) -> None:
        self.plan, self.graph, self.context = found.plan, found.cut.graph, found.context
        self.whole = found.whole
        first: dict[str, Phase] = {}
        for phase in self.plan.phases:
            first.setdefault(phase.train_op, phase)
        self.phases = list(first.values())
        self.imported = found.context.imported
        self.rules = {name for name in found.context.state.rules if not self._has_rows_alone(name)}
        slots = {variable.name for variable in self.plan.variables if variable.role == "slot"}
        self.accumulators = set(found.context.accumulators) - slots
        shapes = {variable.name: TensorType(variable.dtype, variable.shape) for variable in self.plan.variables}
        self.cutter = Cutter(self.graph, self.plan.aliases, shapes, self._signature, {})
        self.clippings = Clippings(self.graph)
        self._combined: dict[str, frozenset[str]] = {}  # by train op
        self._valued: dict[frozenset[str], set[str]] = {}  # nodes that depend on values of others
        combines = [combine for phase in self.plan.phases for combine in phase.combine]
        self.tower_ends = {parse_tensor_name(n).node for one in combines for tower in one.parts for n in tower}
        self._effects = effects_by_variable(effect for phase in self.plan.phases for effect in phase.effects)
        self.tower_nodes = owners(found.context.towers.masks)
        self.probe = ReductionProbe(self.graph, self.imported, self.cutter, self.tower_nodes)
        self.numbers = tower_numbers(found)
        self.positions = {name: position for position, name in enumerate(self.graph.nodes)}

    def _signature(self, tensor: str) -> TensorType:
        name, output = parse_tensor_name(tensor)
        return TensorType(self.imported.dtype(name, output), self.imported.shape(name, output))

    def _has_rows_alone(self, name: str) -> bool:
        """Whether an op that changes rows takes their numbers from a gradient, and no derivative, as a decay does."""
        graph, state = self.graph, self.context.state
        if not graph.type(name).startswith(("Scatter", "ResourceScatter")):
            return False
        written = state.writes[name][0]
        lookups = set(graph.of_types(*op_types.LOOKUPS))
        lookups = {node for node in lookups if written in state.reads.get(node, [])}
        value = graph.inputs(name)[-1].node
        behind = graph.ancestors([value], stop=lookups, controls=False) - lookups
        return not in_gradient_graphs(behind)

    def combined(self, phase: Phase) -> frozenset[str]:
        """Returns the nodes that give a train op its combined gradients."""
        if phase.train_op not in self._combined:
            nodes = frozenset(parse_tensor_name(entry.tensor).node for entry in phase.combine)
            self._combined[phase.train_op] = nodes
        return self._combined[phase.train_op]

    def between(self, ends: Iterable[str], starts: Iterable[str]) -> set[str]:
        """Returns the nodes that compute the tensors `ends` from `starts`.

        Args:
          ends: names of tensors.
          starts: names of tensors; a frozenset, which many questions may share, of nodes.
        """
        stop = starts if isinstance(starts, frozenset) else {parse_tensor_name(name).node for name in starts}
        return self.graph.ancestors([parse_tensor_name(name).node for name in ends], stop, controls=False) - stop

    def of_values_between(self, ends: Iterable[str], starts: frozenset[str]) -> set[str]:
        """Returns the nodes of `between` that depend on the values of `starts`.

        Others depend on their shapes alone, as noise does that is added to gradients.

        Args:
          ends: names of tensors.
          starts: names of nodes.
        """
        if starts not in self._valued:
            shapes = self.graph.of_types(*op_types.SHAPE_OPS)
            self._valued[starts] = self.graph.descendants(starts, controls=False, stop=shapes)
        return self.between(ends, starts) & self._valued[starts]

    def may_be_its_own(self, phase: Phase) -> bool:
        """Returns whether a factor of 1/N on each tower's loss may stand for something else than the N towers."""
        loss = parse_tensor_name(phase.losses[0]).node if phase.losses and not phase.shared_loss else ""
        sizes = sizes_of_inputs(self.plan)
        return bool(loss) and may_be_its_own(self.graph, self.context.data, loss, self.plan.towers, sizes)

    def learning_rate(self, effect: Effect) -> str | None:
        """Returns the tensor that an update takes as learning rate; of one written by hand, the scalar factor."""
        if op_types.is_apply(effect.op) and effect.learning_rate is None and effect.learning_rate_at >= 0:
            return effect.values[effect.learning_rate_at]  # it is computed where the update's condition holds
        rate = parse_tensor_name(effect.learning_rate or "")
        if effect.learning_rate and effect.gradient and updates_by_hand.scalar(self.context, rate) == 1:
            return updates_by_hand.rate_in_gradient(self.context, effect.gradient, effect.writes[0]) or rate.name
        if effect.learning_rate or effect.node not in self.rules or op_types.is_apply(effect.op):
            return effect.learning_rate
        return updates_by_hand.learning_rate(self.context, effect)

    def addend(self, effect: Effect) -> float | None:
        """Returns the constant that an update adds to a variable; None for others."""
        return updates_by_hand.addend(self.context, effect)

    def is_conditional(self, effect: Effect) -> bool:
        """Returns whether an update leaves a variable as it is in some steps: in a branch, or by a chosen value."""
        return effect.condition is not None or updates_by_hand.is_chosen(self.context, effect)

    def is_counter(self, variable: str) -> bool:
        """Whether a variable is a counter: a scalar to which steps add a constant, or a whole number that none sets.

        What adds the number of the examples at hand, as a metric does, counts no steps; nor does a sum of losses.
        """
        effects = self._effects.get(variable, [])
        found = next((entry for entry in self.plan.variables if entry.name == variable), None)
        if found is None or found.shape != []:
            return False
        is_whole = found.dtype.startswith("int")
        if not effects:
            return is_whole
        if is_whole and all(effect.op in op_types.ADDS for effect in effects):
            return True
        addends = [self.addend(effect) for effect in effects]
        if None in addends or any(self._is_of_data(effect) for effect in effects):
            return False
        is_read = bool(self.graph.descendants([variable], controls=False) & self.rules)  # as by a schedule
        return is_whole or is_read or set(addends) == {1.0}

    def _is_of_data(self, effect: Effect) -> bool:
        """Whether data change what an update sets; of a choice between two values, what the chosen one adds."""
        if updates_by_hand.is_chosen(self.context, effect):
            added = updates_by_hand.added_tensor(self.context, effect)
            return added is None or self.graph.type(self.graph.before_branches(added).node) != "Const"
        return any(parse_tensor_name(value).node in self.context.data for value in effect.values)

    def rises_by(self, variable: str) -> float | None:
        """Returns what a step adds to a counter in all; None where that is not known, or several ops may not run."""
        effects = self._effects.get(variable, [])
        addends = [None if self.is_conditional(effect) else self.addend(effect) for effect in effects]
        return None if None in addends else sum(addend for addend in addends if addend is not None)

    def is_changed(self, variable: str) -> bool:
        """Whether a step changes a variable."""
        return variable in self._effects
