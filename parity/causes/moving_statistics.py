"""Causes in batch statistics: whose are kept."""

from __future__ import annotations

from parity.causes import injection
from parity.causes.cause import HIGH, Cause, Fault, Finding
from parity.comparison import stages
from parity.diagnosis.candidates.statistics_owners import NONE, OwnerKind
from workloads.scope import has_statistics

_WHO = {
    OwnerKind.FIRST: "the first replica's",
    OwnerKind.LAST: "the last replica's",
    OwnerKind.MEAN: "the mean of all replicas'",
    OwnerKind.NONE: "none",
}


def _name(owners):
    owner = next(iter(owners))
    if owner.kind is OwnerKind.IN_TURN:
        return f"all replicas', one after the other (momentum {owner.momentum:g} to the power of their number)"
    return _WHO.get(owner.kind, f"replica {owner.replica}'s")


def who_updates(evidence):
    seen = evidence.statistics
    if seen is None or not all(seen.owners) or set(seen.owners[0]) & set(seen.owners[1]) or NONE in seen.owners[1]:
        return None
    return Finding(
        "Legacy keeps {} batch statistics and the port {}.".format(*(_name(owners) for owners in seen.owners)),
        HIGH,
        "each side's statistics are explained by these proposals in {} steps, residuals {:.1e} and {:.1e}".format(
            seen.steps, *(next(iter(owners.values())) for owners in seen.owners)
        ),
    )


def not_updated(evidence):
    seen = evidence.statistics
    if seen is None or NONE not in seen.owners[1] or NONE in seen.owners[0]:
        return None
    return Finding("The port never updates its batch statistics.", HIGH, f"no bit of them moves in {seen.steps} steps")


class _Last(injection.ScaledStep):
    def _update_statistics(self, context, local, updates):
        from modern.collectives import exchange

        kept = exchange.gather(context, list(updates.values()))
        for name, values in zip(updates, kept):
            local.statistics[name].assign(values[-1])


class _AllInTurn(injection.ScaledStep):
    def _update_statistics(self, context, local, updates):
        from modern.collectives import exchange

        for name, values in zip(updates, exchange.gather(context, list(updates.values()))):
            old = local.statistics[name].read_value()
            new = old
            for value in values:
                new = 0.9 * new + (value - 0.9 * old)
            local.statistics[name].assign(new)


class _Own(injection.ScaledStep):
    """Every replica keeps its own statistics, as Keras 3 does."""

    def _update_statistics(self, context, local, updates):
        for name, value in updates.items():
            local.statistics[name].assign(value)


class _Never(injection.ScaledStep):
    def _update_statistics(self, context, local, updates):
        pass


def normalizing(workload):
    """`adapt`: workloads with batch normalization."""
    return workload if has_statistics(workload) else None


def drift(evidence):
    names = sorted({name for step in evidence.steps for name in step.right.drift})
    if not names:
        return None
    seen = evidence.statistics
    only = seen is not None and set(names) <= set(seen.moves or seen.drift)
    return Finding(
        "{} mirrored variable{} differ between the port's replicas ({}){}.".format(
            len(names),
            "" if len(names) == 1 else "s",
            ", ".join(names[:3]),
            ": every replica keeps its own batch statistics" if only else "",
        ),
        HIGH,
        "the copies were read from every replica after each step",
    )


CAUSES = (
    Cause(
        "REPLICA_DRIFT",
        stages.STATISTICS,
        "the copies of a mirrored variable disagree",
        "replicas of one variable have different bits after a step",
        "Keras 3's batch normalization keeps statistics per replica (aggregation none); an all-reduce that does not "
        "give every replica the same; an update that only some replicas run.",
        "Statistics: a variable with aggregation ONLY_FIRST_REPLICA (or MEAN), or synchronized=True knowingly. "
        "Weights: compare with tf.distribute.ReductionToOneDevice.",
        drift,
        (Fault("every_replica_its_own_statistics", injection.in_replica_step(_Own), normalizing),),
        "R22",
    ),
    Cause(
        "BN_WHO_UPDATES",
        stages.STATISTICS,
        "another replica's batch statistics are kept",
        "new = m old + (1 - m) x with x the first's, the last's, the mean; or m^N for all in turn",
        "Tower code took the first or the last tower's update ops, or ran all; Keras 2 averaged, Keras 3 keeps each "
        "replica's own.",
        "Pick the aggregation of the statistics' variables to match: ONLY_FIRST_REPLICA, or MEAN.",
        who_updates,
        (
            Fault("last_replicas_statistics", injection.in_replica_step(_Last), normalizing),
            Fault(
                "mean_of_all_statistics",
                injection.in_workload(lambda job: {"statistics": "mean_of_towers"}),
                normalizing,
            ),
            Fault("all_statistics_in_turn", injection.in_replica_step(_AllInTurn), normalizing),
        ),
        "R19",
    ),
    Cause(
        "BN_NOT_UPDATED",
        stages.STATISTICS,
        "batch statistics are not updated",
        "statistics keep every bit",
        "UPDATE_OPS that nothing runs; training=False.",
        "Run the update ops with the train step.",
        not_updated,
        (Fault("statistics_not_updated", injection.in_replica_step(_Never), normalizing),),
    ),
)
