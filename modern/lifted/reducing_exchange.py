"""Exchange by all-reduce: for any number of replicas, and for speed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import tensorflow as tf

from modern.collectives import exchange as replica_exchange
from modern.lifted.exchange import Exchange, ExchangeAsWritten
from modern.lifted.function import Tensors
from modern.options import ALL_REDUCES
from workloads.job import Job
from workloads.lifted.plan import Combine, Effect, Phase, Plan
from workloads.lifted.reduction_factors import factor_on_reduced, reduced_as
from workloads.lifted.replication import (
    corresponding_crossings,
    own_number_only,
    replica_of_tower,
    tower_of_crossing,
    tower_run_by,
)
from workloads.lifted.workload import as_lifted
from workloads.support.errors import InputError, require


def make_exchange(job: Job, phase: Phase, all_reduce: str) -> Exchange:
    """Returns the exchange for a phase: as written where bits must be the old graph's, otherwise reducing.

    Args:
      job: a `Job` of a `LiftedWorkload`.
      phase: the phase.
      all_reduce: the option of that name.

    Returns:
      The `Exchange`.

    Raises:
      InputError: the graph combines its towers in a way that only works as written, for its own number of towers.
    """
    plan = as_lifted(job.workload).plan
    towers = plan.towers
    written = any(combine.kind == "kept as written" for combine in phase.combine)
    if job.replicas == towers and (ALL_REDUCES[all_reduce].in_order or written):
        return ExchangeAsWritten(phase, towers)
    why = own_number_only(plan) if job.replicas != towers and not phase.returns else ""
    if written or why:
        why = why or own_number_only(plan)
        raise InputError(f"--replicas: got {job.replicas}, {why}, and only works for its own {towers} towers")
    require(
        not phase.returns,
        "--replicas" if job.replicas != towers else "--all_reduce",
        job.replicas if job.replicas != towers else all_reduce,
        f"each tower's gradients depend on all towers' results; only --replicas={towers} --all_reduce=tower_order",
    )
    return ReducingExchange(plan, phase, job.replicas)


class ReducingExchange(Exchange):
    """All-reduces gradients and other results as recognised; takes other crossings from replicas that run their tower.

    Where towers differ (a regularizer on the first one only), the first replica runs the first tower's graph, the last
    one the last's, and those between take what is left. Each replica keeps the state of its own tower.

    Args:
      plan: the plan.
      phase: one of its phases.
      replicas: number of replicas.
    """

    def __init__(self, plan: Plan, phase: Phase, replicas: int) -> None:
        self._plan, self._phase, self._replicas = plan, phase, replicas
        self._shapes = {v.name: v.shape for v in plan.variables}
        self._tower_of_state = {v.name: v.tower for v in plan.variables if v.role == "state"}
        affine = [name for c in phase.reductions if c.affine for tower in c.parts for name in tower]
        plain = [c.tensor for c in phase.reductions if not c.affine]
        self.cuts = plain + [n for row in phase.crossings for n in row if n is not None and n not in affine] + affine

    def describe(self, all_reduce: str) -> str:
        kinds = sorted({combine.kind for combine in self._phase.combine})
        return f"all-reduce of {', '.join(kinds)}, by {all_reduce}"

    def tower(self, replica: int) -> int:
        return tower_run_by(self._plan, replica, self._replicas)

    def skips(self, effect: Effect, tower: int) -> bool:
        """Returns whether an effect is on another tower's state, where replicas do not each run their own tower."""
        if self._replicas == self._plan.towers:
            return False
        owners = {self._tower_of_state.get(name) for name in effect.writes} - {None}
        return bool(owners) and tower not in owners

    def __call__(
        self, context: tf.distribute.ReplicaContext, tower: int, crossings: Tensors, needed: Collection[str]
    ) -> Tensors:
        """See `Exchange`; also returns {combined tensor: value}."""
        found = self._reduced(context, tower, crossings)
        own = set(self._state_names(tower)) if self._replicas != self._plan.towers else set()
        others = [name for name in needed if name not in found and name not in own]
        found.update((name, crossings[name]) for name in own if name in crossings)
        values = [self._corresponding(tower, name, crossings) for name in others]
        for name, copies in zip(others, replica_exchange.gather(context, values)):
            found[name] = copies[self._replica_that_has(name)]
        return found

    def _reduced(self, context: tf.distribute.ReplicaContext, tower: int, crossings: Tensors) -> Tensors:
        """Returns {tensor of the old graph: value} of the reduced gradients and other results."""
        found: Tensors = {}
        for kind, how in (("mean", tf.distribute.ReduceOp.MEAN), ("sum", tf.distribute.ReduceOp.SUM)):
            combines = [combine for combine in self._phase.reductions if self._kind(combine) == kind]
            values = [self._tower_part(combine, tower, crossings) for combine in combines]
            values = replica_exchange.all_reduce(context, how, values) if values else []
            for combine, value in zip(combines, values):
                found.update(self._as_old_tensors(combine, value))
        joined = [combine for combine in self._phase.reductions if self._kind(combine) not in ("mean", "sum")]
        values = [crossings[combine.parts[tower][0]] for combine in joined]
        for combine, value in zip(joined, replica_exchange.concat(context, values)):
            found[combine.tensor] = self._scaled(combine, value)
        return found

    def _tower_part(self, combine: Combine, tower: int, crossings: Tensors) -> tf.Tensor:
        """Returns the sum of what a tower contributes to a combined tensor, with its static shape."""
        parts = [crossings[name] for name in combine.parts[tower]]
        value = tf.add_n(parts) if len(parts) > 1 else parts[0]
        return tf.ensure_shape(value, self._static_shape(combine.parts[tower][0], combine))

    def _as_old_tensors(self, combine: Combine, value: tf.Tensor) -> Tensors:
        """Returns {tensor of the old graph: value} of a reduced tensor: where the update reads it."""
        if not combine.affine:
            return {
                combine.tensor: tf.reshape(self._scaled(combine, value), self._static_shape(combine.tensor, combine))
            }
        # What the graph adds besides stays in: all of the gradient goes in by the first tower, nothing by the others.
        names = [name for tower in combine.parts for name in tower]
        found = {name: tf.zeros_like(value) for name in names[1:]}
        found[names[0]] = value * tf.cast(self._factor(combine), value.dtype)
        return found

    def _static_shape(self, tensor: str, combine: Combine) -> Sequence[int | None]:
        """Returns a gradient's shape; its variable's, where the graph leaves it open (what comes out of a loop)."""
        shape = self._plan.tensors[tensor].shape
        if shape is not None and None not in shape:
            return shape
        return self._shapes[combine.weight]

    def _scaled(self, combine: Combine, value: tf.Tensor) -> tf.Tensor:
        factor = self._factor(combine)
        if factor == 1.0 or not value.dtype.is_floating:
            return value
        return value * tf.cast(factor, value.dtype)

    def _kind(self, combine: Combine) -> str:
        return reduced_as(combine, self._plan.towers, self._replicas)

    def _factor(self, combine: Combine) -> float:
        return factor_on_reduced(combine, self._phase.scale_before(combine), self._plan.towers, self._replicas)

    def _state_names(self, tower: int) -> list[str]:
        """Returns the crossings that only set this tower's own state."""
        effects = [e for e in self._phase.effects if e.writes and self._tower_of_state.get(e.writes[0]) == tower]
        nodes = {effect.node for effect in effects}
        return [name for name, node in self._phase.state_crossings.items() if node in nodes]

    def _corresponding(self, tower: int, name: str, crossings: Tensors) -> tf.Tensor:
        """Returns this replica's tensor that corresponds to `name`; zero if only another replica has one."""
        if name in crossings:
            return crossings[name]
        found = [own for own in corresponding_crossings(self._phase, name, tower) if own in crossings]
        return crossings[found[0]] if found else tf.zeros([])

    def _replica_that_has(self, name: str) -> int:
        """Returns the replica whose value is taken for a tensor: one that runs the tensor's tower."""
        tower = tower_of_crossing(self._phase, name)
        return replica_of_tower(tower, self._plan.towers, self._replicas)
