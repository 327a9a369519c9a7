"""One step of a lifted program as one replica runs it, under `strategy.run`.

A replica runs its tower's own loss and gradients, cut out of the old graph (`tower.py`). The replicas exchange the
tensors that leave the towers (`exchange.py`). Then each runs the rest on its own copy of the variables (`update.py`):
combining, clipping, schedule, update rules, averages.
"""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from modern.lifted.autodiff import check_differentiable
from modern.lifted.function import StepValues, Tensors
from modern.lifted.reducing_exchange import make_exchange
from modern.lifted.tower import TowerRunner
from modern.lifted.update import UpdateRunner
from modern.lifted.written import WrittenTower
from modern.mirrored.state.variables import MirroredState
from modern.options import ModernOptions
from workloads.job import Job
from workloads.lifted.pieces.noise import drawn_nodes
from workloads.lifted.plan import Phase, Plan
from workloads.lifted.tensors.lift_taps import NO_TAPS, PhaseTaps
from workloads.lifted.workload import as_lifted


class LiftedStepTensors(NamedTuple):
    """The observed values of one replica's step.

    Attributes:
      losses: the scalar loss, or nothing if the graph does not tell.
      gradients: {weight: gradient} before any combining.
      combined: {weight: gradient} that the update rules got.
      learning_rates: each learning rate of the graph once.
      taps: {tap: value}.
      tap_gradients: {tap: gradient of the tower's loss}.
    """

    losses: list[tf.Tensor]
    gradients: Tensors
    combined: Tensors
    learning_rates: list[tf.Tensor]
    taps: Tensors
    tap_gradients: Tensors


class LiftedStep:
    """One phase of a lifted job as a function of one replica's batch.

    Args:
      job: the `Job`.
      phase: number of the phase.
      variables: the replicas' variables.
      options: the port's options.
      noise: "keyed", or "drawn" if the batch brings the random numbers.
      taps: of the phase.

    Attributes:
      taps: as given.
    """

    def __init__(
        self,
        job: Job,
        phase: int,
        variables: MirroredState,
        options: ModernOptions,
        noise: str,
        taps: PhaseTaps = NO_TAPS,
    ) -> None:
        self.taps = taps
        workload = as_lifted(job.workload)
        self._job = job
        self._variables = variables
        plan, described = workload.plan, workload.plan.phases[phase]
        new_gradients = options.autodiff == "new"
        if new_gradients:
            check_differentiable(workload, described)
        cutter = workload.cutter({node: "drawn" for node in drawn_nodes(plan)} if noise == "drawn" else {})
        self._exchange = make_exchange(job, described, options.all_reduce)
        loss = workload.losses.get(described.train_op)
        written = (
            None if loss is None else WrittenTower(described, loss, _loss_dtype(plan, described), noise == "drawn")
        )
        if options.exact:
            cutter = cutter.with_sums_in_order()
        self._tower_runner = TowerRunner(plan, described, cutter, new_gradients, written, taps)
        self._update_runner = UpdateRunner(plan, described, workload.graph, cutter, self._exchange)
        self._cuts = set(self._exchange.cuts)
        #: How often a replica's step was traced.
        self.traces = 0

    def tower(self, replica: int) -> int:
        """Returns the number of the tower whose graph a replica runs."""
        return self._exchange.tower(replica)

    def describe_reduction(self, all_reduce: str) -> str:
        """Returns the way in which the towers' results are combined, where the strategy uses `all_reduce`."""
        return self._exchange.describe(all_reduce)

    def __call__(self, batch: Tensors) -> LiftedStepTensors:
        """Runs the step on {input name: tensor} of this replica."""
        self.traces += 1
        context = tf.distribute.get_replica_context()
        replica = int(tf.get_static_value(context.replica_id_in_sync_group))
        tower = self._exchange.tower(replica)
        local = self._variables.local(replica)
        variables = {**local.weights, **local.slots, **local.statistics, **local.averages}
        values = StepValues(self._job.seed, replica, local.step.read_value(), batch, variables)
        results = self._tower_runner.run(context, tower, values)
        groups = self._update_runner.groups(tower)
        needed = [name for group in groups for name in group.function.cuts if name in self._cuts]
        values.crossings = self._exchange(context, tower, results.crossings, needed)
        update = self._update_runner.run(groups, values)
        tf.raw_ops.AssignAddVariableOp(resource=local.step.handle, value=tf.ones([], tf.int64))
        return LiftedStepTensors(
            results.losses,
            results.gradients,
            update.combined,
            update.learning_rates,
            results.taps,
            results.tap_gradients,
        )


def _loss_dtype(plan: Plan, phase: Phase) -> str:
    """Returns the name of the dtype of a phase's losses, which is float64 in a lift that was rewritten so."""
    return plan.tensors[phase.losses[0]].dtype if phase.losses else "float32"
