"""Causes: which replica's batch statistics update the moving statistics, and copies of variables that disagree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.comparison import stages
from parity.diagnosis.candidates.statistics_owners import NONE, OwnerKind, StatisticsOwner
from workloads.support.wording import counted
from workloads.tracing import has_statistics

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from workloads.workload import Workload

_BATCH_OF = {
    OwnerKind.FIRST: "the first replica's batch",
    OwnerKind.LAST: "the last replica's batch",
    OwnerKind.MEAN: "the mean over all replicas' batches",
    OwnerKind.NONE: "no batch",
}


def replica_drift(evidence: Evidence) -> Finding | None:
    """Recognizes REPLICA_DRIFT: the port's replicas hold different bits of one variable."""
    names = sorted({name for step in evidence.steps for name in step.right.drift})
    if not names:
        return None
    facts = evidence.statistics
    only_statistics = facts is not None and set(names) <= set(facts.moves or facts.drift)
    count = "One mirrored variable differs" if len(names) == 1 else f"{len(names)} mirrored variables differ"
    reason = ": every replica keeps its own moving statistics" if only_statistics else ""
    return Finding(
        f"{count} between the port's replicas ({', '.join(names[:3])}){reason}.",
        HIGH,
        "the copies were read from every replica after each step",
        {"only_statistics": float(only_statistics)},
        variables=tuple(names),
    )


def bn_who_updates(evidence: Evidence) -> Finding | None:
    """Recognizes BN_WHO_UPDATES: the sides' moving statistics come from different replicas' proposals."""
    facts = evidence.statistics
    if facts is None or not all(facts.owners) or set(facts.owners[0]) & set(facts.owners[1]):
        return None
    if NONE in facts.owners[1]:
        return None  # `BN_NOT_UPDATED`
    left, right = (_describe_first_owner(owners) for owners in facts.owners)
    owner = next(iter(facts.owners[1]))
    left_residual, right_residual = (next(iter(owners.values())) for owners in facts.owners)
    return Finding(
        f"The moving statistics are updated from {left} in legacy and from {right} in the port.",
        HIGH,
        f"these batches explain each side's statistics in {counted(facts.steps, 'step')}, residuals "
        f"{left_residual:.1e} and {right_residual:.1e}",
        {"owner": owner.kind.name, "replica": owner.replica, "momentum": owner.momentum},
    )


def _describe_first_owner(owners: Mapping[StatisticsOwner, float]) -> str:
    owner = next(iter(owners))
    if owner.kind is OwnerKind.IN_TURN:
        return f"all replicas' batches, one after the other (momentum {owner.momentum:g} to the power of their number)"
    return _BATCH_OF.get(owner.kind, f"replica {owner.replica}'s batch")


def bn_not_updated(evidence: Evidence) -> Finding | None:
    """Recognizes BN_NOT_UPDATED: no bit of the port's moving statistics changes, and legacy's change."""
    facts = evidence.statistics
    if facts is None or NONE not in facts.owners[1] or NONE in facts.owners[0]:
        return None
    return Finding(
        "The port never updates its moving statistics.",
        HIGH,
        f"no bit of them changes in {counted(facts.steps, 'step')}",
    )


class _LastStatistics(ReplicaStep):
    """Updates the moving statistics from the last replica's proposals."""

    def _update_statistics(self, context: tf.distribute.ReplicaContext, local: LocalState, updates: Tensors) -> None:
        from modern.collectives import exchange

        for name, proposals in zip(updates, exchange.gather(context, list(updates.values()))):
            local.statistics[name].assign(proposals[-1])


class _StatisticsInTurn(ReplicaStep):
    """Updates the moving statistics from all replicas' proposals, one after the other, with a momentum of 0.9."""

    momentum = 0.9

    def _update_statistics(self, context: tf.distribute.ReplicaContext, local: LocalState, updates: Tensors) -> None:
        from modern.collectives import exchange

        for name, proposals in zip(updates, exchange.gather(context, list(updates.values()))):
            old = local.statistics[name].read_value()
            new = old
            for proposal in proposals:
                new = self.momentum * new + (proposal - self.momentum * old)
            local.statistics[name].assign(new)


class _StatisticsOfReplica(ReplicaStep):
    """Updates the moving statistics from one replica's proposals."""

    replica = -1

    def _update_statistics(self, context: tf.distribute.ReplicaContext, local: LocalState, updates: Tensors) -> None:
        from modern.collectives import exchange

        for name, proposals in zip(updates, exchange.gather(context, list(updates.values()))):
            local.statistics[name].assign(proposals[self.replica])


class _OwnStatistics(ReplicaStep):
    """Updates each replica's copy of the moving statistics from its own proposals, as Keras 3 does."""

    def _update_statistics(self, context: tf.distribute.ReplicaContext, local: LocalState, updates: Tensors) -> None:
        for name, proposal in updates.items():
            local.statistics[name].assign(proposal)


class _NoStatistics(ReplicaStep):
    """Never updates the moving statistics."""

    def _update_statistics(self, context: tf.distribute.ReplicaContext, local: LocalState, updates: Tensors) -> None:
        pass


def _inject_owner(finding: Finding, setup: Setup) -> injection.Change | None:
    """Injects the replicas whose proposals the port keeps."""
    kind, fitted = OwnerKind[finding.constants["owner"]], finding.constants
    fields = {OwnerKind.FIRST: "first_tower", OwnerKind.MEAN: "mean_of_towers"}
    if kind in fields:
        return injection.in_workload(lambda job: {"statistics": fields[kind]})
    if kind is OwnerKind.IN_TURN:
        return injection.in_replica_step(type("InTurn", (_StatisticsInTurn,), {"momentum": fitted["momentum"]}))
    replica = -1 if kind is OwnerKind.LAST else fitted["replica"]
    return injection.in_replica_step(type("OfReplica", (_StatisticsOfReplica,), {"replica": replica}))


def _inject_own_statistics(finding: Finding, setup: Setup) -> injection.Change | None:
    return injection.in_replica_step(_OwnStatistics) if finding.constants["only_statistics"] else None


def _inject_no_statistics(finding: Finding, setup: Setup) -> injection.Change:
    return injection.in_replica_step(_NoStatistics)


def normalizing(workload: Workload) -> Workload | None:
    """Returns the workload if it has batch normalization, else None; an `adapt` of faults."""
    return workload if has_statistics(workload) else None


CAUSES = (
    Cause(
        id="REPLICA_DRIFT",
        stage=stages.STATISTICS,
        title="the copies of a mirrored variable disagree",
        signature="The replicas' copies of one variable have different bits after a step",
        why="Keras 3's batch normalization keeps statistics per replica (aggregation none). An all-reduce that gives "
        "replicas different results, or an update that only some replicas run, has the same effect.",
        fix="Statistics: use a variable with aggregation ONLY_FIRST_REPLICA (or MEAN), or synchronized=True and accept "
        "that the model differs. Weights: compare with tf.distribute.ReductionToOneDevice.",
        criterion=replica_drift,
        change=_inject_own_statistics,
        faults=(Fault("every_replica_its_own_statistics", injection.in_replica_step(_OwnStatistics), normalizing),),
        pitfall="R22",
    ),
    Cause(
        id="BN_WHO_UPDATES",
        stage=stages.STATISTICS,
        title="the moving statistics are updated from another replica's batch",
        signature="new = m old + (1 - m) x, where x is the batch statistic of the first replica, of the last, or the "
        "mean over all; where all replicas' are applied in turn, m^N takes the place of m",
        why="Tower code ran the update ops of the first tower, of the last, or of all; Keras 2 averaged over replicas, "
        "Keras 3 keeps statistics per replica.",
        fix="Choose the aggregation of the statistics' variables that matches legacy: ONLY_FIRST_REPLICA, or MEAN.",
        criterion=bn_who_updates,
        change=_inject_owner,
        by_variable=True,
        faults=(
            Fault("last_replicas_statistics", injection.in_replica_step(_LastStatistics), normalizing),
            Fault(
                "mean_of_all_statistics",
                injection.in_workload(lambda job: {"statistics": "mean_of_towers"}),
                normalizing,
            ),
            Fault("all_statistics_in_turn", injection.in_replica_step(_StatisticsInTurn), normalizing),
        ),
        pitfall="R19",
    ),
    Cause(
        id="BN_NOT_UPDATED",
        stage=stages.STATISTICS,
        title="the moving statistics are not updated",
        signature="No bit of the moving statistics changes",
        why="Nothing runs the ops in UPDATE_OPS, or the layers are called with training=False.",
        fix="Run the update ops with the train step.",
        criterion=bn_not_updated,
        change=_inject_no_statistics,
        by_variable=True,
        faults=(Fault("statistics_not_updated", injection.in_replica_step(_NoStatistics), normalizing),),
    ),
)
