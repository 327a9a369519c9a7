"""The part of a step after the exchange: the old graph's changes of variables, on a replica's own copies."""

from __future__ import annotations

import collections
import functools
from collections.abc import Sequence
from typing import NamedTuple

import tensorflow as tf

from modern.lifted.effects import apply_effect, run_in_branch
from modern.lifted.exchange import Exchange
from modern.lifted.function import PieceFunction, StepValues, Tensors
from modern.lifted.tower import common_inputs
from workloads.lifted.graph import Graph
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.pieces.piece import Fetch, Piece
from workloads.lifted.plan import Effect, Phase, Plan


class EffectGroup(NamedTuple):
    """Effects whose arguments are computed together, before the first of them changes a variable.

    Attributes:
      function: computes each effect's `values` in turn, and after them the predicates of its conditions.
      effects: the effects, in order.
    """

    function: PieceFunction
    effects: list[Effect]


class UpdateResults(NamedTuple):
    """Observed arguments of the effects.

    Attributes:
      combined: {weight: gradient} that the update rules got.
      learning_rates: each learning rate once, in the order of its first use.
    """

    combined: Tensors
    learning_rates: list[tf.Tensor]


class UpdateRunner:
    """Runs the effects of a phase.

    Args:
      plan: the plan.
      phase: one of its phases.
      graph: index of the graph.
      cutter: cuts the graph.
      exchange: its cuts are where the arguments' computation starts.
    """

    def __init__(self, plan: Plan, phase: Phase, graph: Graph, cutter: Cutter, exchange: Exchange) -> None:
        self._plan, self._phase, self._graph, self._cutter = plan, phase, graph, cutter
        self._exchange = exchange
        self._groups: dict[tuple[str, ...], list[EffectGroup]] = {}

    def groups(self, tower: int) -> list[EffectGroup]:
        """Returns the effects that a replica with the graph of `tower` runs, in order."""
        effects = [effect for effect in self._phase.effects if not self._exchange.skips(effect, tower)]
        key = tuple(effect.node for effect in effects)  # the same for all replicas, unless towers keep a state
        if key not in self._groups:
            inputs, noise = common_inputs(self._plan)
            self._groups[key] = [
                EffectGroup(PieceFunction(piece, inputs, noise, common=noise), group)
                for group, piece in self._cut_groups(effects)
            ]
        return self._groups[key]

    def run(self, groups: Sequence[EffectGroup], values: StepValues) -> UpdateResults:
        """Changes the replica's variables, effect by effect.

        Args:
          groups: the effects.
          values: the replica's values, the crossings of all towers included.

        Returns:
          The observed arguments.
        """
        values.needed = {read for group in groups for read in group.function.reads}
        combined: Tensors = {}
        rates: dict[str, tf.Tensor] = {}
        for group in groups:
            results = iter(group.function(values))
            for effect in group.effects:
                arguments = [next(results) for _ in effect.values]
                if effect.gradient:
                    combined[effect.writes[0]] = arguments[effect.gradient_at]
                if effect.learning_rate:
                    rates.setdefault(effect.learning_rate, arguments[effect.learning_rate_at])
                values.before_change(effect.writes)
                run = functools.partial(
                    apply_effect, effect, self._graph.nodes[effect.node], values.variables, arguments
                )
                predicates = [next(results) for _ in effect.conditions]
                for condition, predicate in reversed(list(zip(effect.conditions, predicates))):
                    run = functools.partial(run_in_branch, predicate, condition.branch, run)
                run()
        return UpdateResults(combined, list(rates.values()))

    def _cut_groups(self, effects: list[Effect]) -> list[tuple[list[Effect], Piece]]:
        """Divides effects into as few groups as possible, none of which reads what it changes itself.

        Effects of a group are in the same branch, if in any.
        """
        if not effects:
            return []
        if len({effect.conditions for effect in effects}) == 1:
            piece = self._cut(effects)
            if all(read.version == 0 for read in piece.reads):
                return [(effects, piece)]
        groups: list[list[Effect]] = [[]]
        alone: dict[str, Piece] = {}
        before: collections.Counter[str] = collections.Counter()  # changes by the groups before the last one
        own: collections.Counter[str] = collections.Counter()  # changes by the last one
        for effect in effects:
            piece = alone[effect.node] = self._cut([effect])
            other_branch = groups[-1] and groups[-1][-1].conditions != effect.conditions
            if other_branch or any(read.version > before[read.variable] for read in piece.reads):
                before.update(own)
                own.clear()
                groups.append([])
            groups[-1].append(effect)
            own.update(effect.writes)
        return [(group, alone[group[0].node] if len(group) == 1 else self._cut(group)) for group in groups if group]

    def _cut(self, effects: Sequence[Effect]) -> Piece:
        """Returns the piece that computes the arguments of effects."""
        fetches: list[str | Fetch] = []
        for effect in effects:
            fetches += [Fetch(value, effect.node) for value in effect.values]
            fetches += [condition.predicate for condition in effect.conditions]
        cuts = self._exchange.cuts + list(common_inputs(self._plan)[0])
        taken = {condition for effect in effects for condition in effect.conditions}
        return self._cutter.piece(fetches, cuts, self._phase.versions, taken)
