"""Explanation of a loss that differs: computes both forward passes again and names the op where they diverge."""

from __future__ import annotations

import contextlib

import numpy as np

from parity.against.against_setup import OldGraph
from parity.against.forward_difference import CLOSE, ForwardDifference, find_forward_difference
from parity.against.forward_values import old_forward, port_forward
from parity.comparison import stages
from parity.comparison.result import Verification
from parity.comparison.setup import Setup
from workloads.lifted.plan import Plan
from workloads.lifted.replication import replica_of_tower, tower_run_by
from workloads.program import Arrays


def explain_loss(setup: Setup, old: OldGraph, verification: Verification) -> ForwardDifference | None:
    """Finds where the port's forward pass leaves the old graph's, if a loss is the first that differs.

    Args:
      setup: of the port and the old graph.
      old: the old graph.
      verification: the result.

    Returns:
      the first op that differs; None if something else differs first, or no op can be named.
    """
    first = verification.first
    if first is None or first.stage != stages.LOSS or first.precision:
        return None
    plan = old.workload.plan
    replicas = setup.job.replicas
    wanted = int(first.difference.name.rpartition(" ")[2])
    tower = tower_run_by(plan, wanted, replicas)
    replica = wanted if replicas == plan.towers else replica_of_tower(tower, plan.towers, replicas)
    with contextlib.closing(old.program(setup)) as reference:
        state = verification.failed_visit.state if verification.failed_visit else None
        if state is not None:
            reference.load(state)
        while state is None and reference.state().step < first.step:
            reference.step()
        state = reference.state()
        given = [entry.tensors[min(tower, len(entry.tensors) - 1)] for entry in plan.inputs + plan.common]
        loss = plan.phases[0].losses[tower]
        shards = old.batches(setup.job).shards(state.step)
        values = old_forward(reference.old_graph, old.workload.graph, loss, given, shards)
    values.update(_given_values(plan, tower, shards[replica]))
    batch = old.port_source(setup.job).shards(state.step)[replica]
    close = 0.0 if verification.tolerance_name == "exact" else CLOSE
    port = port_forward(setup.job, state, batch, replica)
    return find_forward_difference(port, values, old.workload.graph, close, loss)


def _given_values(plan: Plan, tower: int, batch: Arrays) -> Arrays:
    """{tensor: value} of a tower's inputs that are batches.

    Args:
      plan: of the lift.
      tower: number of the tower.
      batch: {input: array} of the tower's replica.
    """
    entries = [entry for entry in plan.inputs if entry.name in batch and tower < len(entry.tensors)]
    return {entry.tensors[tower]: np.asarray(batch[entry.name]) for entry in entries}
