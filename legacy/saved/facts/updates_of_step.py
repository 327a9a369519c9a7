"""Updates of the variables that no optimizer trains, such as statistics and averages, found in an analysed step."""

from __future__ import annotations

import collections

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.analysis.values.update_sources import UpdateSources, tower_of_op, tower_read_back
from legacy.saved.facts.basics.analysed_step import AnalysedStep
from legacy.saved.facts.basics.tower_numbers import tower_in_graph
from legacy.saved.facts.decays import Decays, not_constant, taken_beside
from legacy.saved.facts.variable_updates import VariableUpdate
from legacy.saved.graph.assignments import assigned_variable
from workloads.lifted.graph import parse_tensor_name
from workloads.lifted.plan import Effect, Phase


class UpdatesOfStep:
    """Finds the updates of the variables with a role: their towers, decays and combining.

    Args:
      found: the analysis.
      analysed: the training step.
    """

    def __init__(self, found: Analysis, analysed: AnalysedStep) -> None:
        self._found, self._analysed, self._plan, self._graph = found, analysed, found.plan, found.cut.graph
        crossings = {name for phase in self._plan.phases for row in phase.crossings for name in row if name}
        effects = [effect for phase in self._plan.phases for effect in phase.effects]
        given = crossings | taken_beside(self._graph, analysed.imported, effects)
        self._decays = Decays(analysed.cutter, not_constant(self._graph, given), analysed.addend)
        self._sources = [UpdateSources(self._graph, phase) for phase in analysed.phases]

    def of_role(self, role: str) -> list[VariableUpdate]:
        """Returns the updates of the variables with a role, without step counters and sums of gradients."""
        others = {v.name for v in self._plan.variables if self._analysed.is_counter(v.name)}
        others |= self._analysed.accumulators
        chosen = [v for v in self._plan.variables if v.role == role and v.name not in others]
        weight_of = {variable.name: variable.of for variable in chosen}
        towers_of_ops = self._towers_of_ops()
        return [
            VariableUpdate(
                name,
                weight_of[name] or self.copied(name),
                self._towers_of_update(sources, effect),
                "a copy" if self.copied(name) else self._decays.text(phase, effect),
                effect.op,
                effect.node,
                effect.condition is not None,
                self._tower_of_op(effect.node) if len(towers_of_ops[name]) > 1 else None,
                self._combine_of_update(phase, effect),
                phase.train_op if len(self._analysed.phases) > 1 else "",
            )
            for phase, sources in zip(self._analysed.phases, self._sources)
            for effect in phase.effects
            for name in effect.writes
            if name in weight_of
        ]

    def copied(self, name: str) -> str:
        """Returns the variable that every change of this one copies, as for a target network; "" if there is none."""
        nodes = [effect.node for phase in self._analysed.phases for effect in phase.effects if name in effect.writes]
        sources = {assigned_variable(self._graph, node) for node in nodes}
        source = sources.pop() if len(sources) == 1 else None
        return "" if source is None or source == name else source

    def _towers_of_ops(self) -> dict[str, set[int]]:
        """{variable: towers whose ops change it}."""
        found: dict[str, set[int]] = collections.defaultdict(set)
        for effect in [effect for phase in self._analysed.phases for effect in phase.effects]:
            tower = self._tower_of_op(effect.node)
            if tower is not None:
                for name in effect.writes:
                    found[name].add(tower)
        return found

    def _towers_of_update(self, sources: UpdateSources, effect: Effect) -> tuple[int, ...]:
        """The towers of the old graph whose data an update takes; of one that trains alone, those whose ops it is."""
        own = tower_in_graph(self._found, self._analysed.numbers, effect.node) if self._plan.towers == 1 else None
        towers = sources.towers(effect) or self._read_back(effect.node)
        return (own,) if towers and own is not None else tuple(map(self._analysed.numbers.of, towers))

    def _combine_of_update(self, phase: Phase, effect: Effect) -> str:
        """The combining of all towers' results for an update; "" where there is none, or are several."""
        before = self._graph.ancestors([effect.node], controls=False) if phase.results else set()
        found = [one for one in phase.results if parse_tensor_name(one.tensor).node in before]
        kinds = {"mean" if one.divided else one.kind for one in found}
        return kinds.pop() if len(kinds) == 1 else ""

    def _tower_of_op(self, name: str) -> int | None:
        return tower_of_op(self._graph, self._analysed.context.towers, name)

    def _read_back(self, name: str) -> list[int]:
        tower = tower_read_back(self._graph, self._analysed.context.towers, name)
        return [] if tower is None else [tower]
