"""The part of a step that belongs to one tower: its loss, its gradients, and what leaves it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from modern.lifted import autodiff
from modern.lifted.exchange import Row, gather_rows
from modern.lifted.function import PieceFunction, StepValues, Tensors
from workloads.lifted.pieces.cutter import Cutter
from workloads.lifted.plan import Noise, Phase, Plan
from workloads.lifted.tensors.lift_taps import NO_TAPS, PhaseTaps

#: Computes {tensor of the old graph: value} of a tower's loss and gradients from its number and a replica's values.
WrittenTower = Callable[[int, StepValues], Tensors]


class TowerResults(NamedTuple):
    """Results of one tower.

    Attributes:
      losses: its scalar loss, or nothing if the graph does not tell.
      gradients: {weight: gradient}; a zero for weights that only other towers have, so that all have the same keys.
      crossings: {tensor of the old graph: value} of what leaves the tower.
      taps: {tap: value}.
      tap_gradients: {tap: gradient of the tower's loss}.
    """

    losses: list[tf.Tensor]
    gradients: Tensors
    crossings: Tensors
    taps: Tensors
    tap_gradients: Tensors


class TowerRunner:
    """Runs towers' pieces of a phase.

    Args:
      plan: the plan.
      phase: one of its phases.
      cutter: cuts the graph.
      new_gradients: whether to differentiate the loss anew.
      written: computes a tower's loss and gradients in place of the graph; None for the graph's own.
      taps: tensors of the towers that are handed out besides.
    """

    def __init__(
        self,
        plan: Plan,
        phase: Phase,
        cutter: Cutter,
        new_gradients: bool,
        written: WrittenTower | None = None,
        taps: PhaseTaps = NO_TAPS,
    ) -> None:
        self._plan, self._phase, self._cutter, self._new_gradients = plan, phase, cutter, new_gradients
        self._written, self._taps = written, taps
        self._functions: dict[tuple[int, str], PieceFunction] = {}

    def run(self, context: tf.distribute.ReplicaContext, tower: int, values: StepValues) -> TowerResults:
        """Runs a tower.

        Args:
          context: the replica's context.
          tower: number of the tower.
          values: the replica's values; its crossings may be changed.

        Returns:
          The tower's results.
        """
        phase = self._phase
        losses = [phase.losses[tower]] if phase.losses else []
        gradients = phase.gradients[tower]
        leaving = _of_tower(phase.crossings, tower)
        if tower == 0 and context.num_replicas_in_sync != self._plan.towers:
            leaving += phase.twins.values()  # replicas run the first tower in place of others
        leaving += [name for combine in phase.combine for name in combine.parts[tower]]
        taps, tap_gradients = self._taps.values(tower), self._taps.gradients(tower)
        wanted = list(dict.fromkeys(losses + list(gradients.values()) + leaving))
        wanted += [name for name in [*taps.values(), *tap_gradients.values()] if name not in wanted]
        if self._written is not None:
            found = self._with_written_loss(self._written, tower, values, wanted)
        elif self._new_gradients:
            found = self._with_new_gradients(tower, values, wanted)
        elif phase.returns:
            found = self._around_exchanges(context, tower, values, wanted)
        else:
            found = self._compute(tower, wanted, (), values)
        shown = {weight: tf.zeros([]) for one in phase.gradients for weight in one}
        shown.update((weight, found[name]) for weight, name in gradients.items())
        return TowerResults(
            [found[name] for name in losses],
            shown,
            {name: found[name] for name in leaving},
            {tap: found[name] for tap, name in taps.items()},
            {tap: found[name] for tap, name in tap_gradients.items()},
        )

    def _with_new_gradients(self, tower: int, values: StepValues, wanted: list[str]) -> Tensors:
        """Differentiates the tower's loss anew, and computes the other wanted tensors from those gradients."""
        inputs, noise = self._inputs(tower)
        piece = self._cutter.piece([self._phase.losses[tower], *self._taps.values(tower).values()], list(inputs))
        loss = PieceFunction(piece, inputs, noise, common_inputs(self._plan)[1])
        found = autodiff.differentiate_tower(self._phase, tower, piece, loss.arguments(values), self._taps)
        values.crossings = found
        late = [name for name in wanted if name not in found]
        found.update(self._compute(tower, late, list(self._phase.raw[tower].values()), values))
        return found

    def _with_written_loss(self, written: WrittenTower, tower: int, values: StepValues, wanted: list[str]) -> Tensors:
        """Computes loss and gradients by a written function, and the other wanted tensors from those."""
        values.crossings = found = written(tower, values)
        late = [name for name in wanted if name not in found]
        found.update(self._compute(tower, late, list(found), values))
        return found

    def _around_exchanges(
        self, context: tf.distribute.ReplicaContext, tower: int, values: StepValues, wanted: list[str]
    ) -> Tensors:
        """Runs a tower in parts: before, between and behind all-gathers of the towers' results.

        Each part goes on from what the parts before it kept.
        """
        found: Tensors = {}
        given: list[str] = []
        rows: list[Row] = []
        for exchange in self._phase.all_exchanges:
            kept, returns = exchange.kept[tower], exchange.returns[tower]
            leaving = [name for name in dict.fromkeys(_of_tower(exchange.early, tower) + kept) if name not in found]
            found.update(self._compute(tower, leaving, given, values))
            rows += exchange.early
            names = {name for row in exchange.early for name in row if name is not None}
            values.crossings.update(gather_rows(context, tower, found, exchange.early, names))
            if returns:
                found.update(zip(returns, self._returns(tower, returns, rows)(values)))
            values.crossings.update(found)
            given += kept + returns
        late = [name for name in wanted if name not in found]
        found.update(self._compute(tower, late, given, values))
        return found

    def _compute(self, tower: int, fetches: list[str], given: Sequence[str], values: StepValues) -> Tensors:
        """Returns {name: value} of tensors of a tower, computed from others that are `given` among the crossings."""
        if not fetches:
            return {}
        key = (tower, ",".join(fetches))
        if key not in self._functions:
            inputs, noise = self._inputs(tower)
            piece = self._cutter.piece(fetches, list(inputs) + list(given))
            self._functions[key] = PieceFunction(piece, inputs, noise, common_inputs(self._plan)[1])
        return dict(zip(fetches, self._functions[key](values)))

    def _returns(self, tower: int, returns: list[str], rows: Sequence[Row]) -> PieceFunction:
        """Returns the function that computes what enters a tower again, from the rows that left all towers before."""
        key = (tower, "returns " + ",".join(returns))
        if key not in self._functions:
            inputs, noise = common_inputs(self._plan)
            early = [name for row in rows for name in row if name is not None]
            piece = self._cutter.piece(returns, early + list(inputs))
            self._functions[key] = PieceFunction(piece, inputs, noise, common=noise)
        return self._functions[key]

    def _inputs(self, tower: int) -> tuple[dict[str, str], dict[str, str]]:
        """Returns ({tensor: input's name}, {random node: stream's name}) of what enters a tower."""
        inputs = {entry.tensors[tower]: entry.name for entry in self._plan.inputs}
        common, drawn_for_all = common_inputs(self._plan)
        return {**inputs, **common}, {**_streams(self._plan.noise, tower), **drawn_for_all}


def common_inputs(plan: Plan) -> tuple[dict[str, str], dict[str, str]]:
    """Returns ({tensor: input's name}, {random node: stream's name}) of what is computed once for all towers."""
    inputs = {entry.tensors[0]: entry.name for entry in plan.common}
    return inputs, _streams(plan.common_noise, 0)


def _streams(noise: Sequence[Noise], tower: int) -> dict[str, str]:
    """Returns {random node: stream's name} of a tower."""
    named = [(entry.nodes[tower], entry.name) for entry in noise]
    return {node: name for node, name in named if node is not None}


def _of_tower(rows: Sequence[Row], tower: int) -> list[str]:
    """Returns the names that rows have for a tower."""
    names = [row[tower] for row in rows]
    return [name for name in names if name is not None]
