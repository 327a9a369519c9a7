"""Causes in which a variable holds other values than its own: another variable's, or its own in fewer bits."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

from modern.mirrored.step.replica_step import ReplicaStep
from parity.causes.basics import injection
from parity.causes.basics.cause import HIGH, Cause, Fault, Finding
from parity.causes.basics.gradient_changes import swapped_gradients
from parity.causes.basics.wording import MOST_NAMED
from parity.causes.gradients import faulty_layers
from parity.comparison import stages
from parity.diagnosis.signatures.precision import find_narrow_values
from parity.diagnosis.signatures.swaps import find_swaps
from parity.diagnosis.stage_checks.step_pattern import describe_steps
from workloads.support.wording import counted, listed
from workloads.tracing import trace
from workloads.workload import MovingAverage

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.mirrored.state.variables import LocalState
    from modern.mirrored.step.step_tensors import Tensors
    from parity.comparison.setup import Setup
    from parity.diagnosis.evidence import Evidence
    from workloads.workload import Workload


def swapped_variables(evidence: Evidence) -> Finding | None:
    """Recognizes SWAPPED_VARIABLES: a variable holds another's values, in the first stage in which any does."""
    swaps = find_swaps(evidence)
    first = [swap for swap in swaps if swap.stage == swaps[0].stage]
    if not first:
        return None
    listed = [
        f"{swap.name} is transposed" if swap.name == swap.source else f"{swap.name} has those of {swap.source}"
        for swap in first[:4]
    ]
    steps = [step.left.step for step in evidence.steps]
    some = sorted(set(first[0].steps)) if first[0].stage != stages.INITIAL else []
    when = f", {describe_steps(some, steps)}" if some and len(some) < len(steps) else ""
    return Finding(
        f"The port's {first[0].stage} are another variable's: {'; '.join(listed)}{when}.",
        HIGH,
        "each agrees with the other variable's to rounding, and not with its own, in "
        f"{counted(len(first[0].steps), 'step')}",
        {"stage": first[0].stage, "sources": tuple((swap.name, swap.source) for swap in first)},
        variables=tuple(swap.name for swap in first),
    )


def half_precision(evidence: Evidence) -> Finding | None:
    """Recognizes HALF_PRECISION: the port's values have the bits of a narrower format, and legacy's have not."""
    found = find_narrow_values(evidence)
    if not found:
        return None
    first = min(found, key=lambda values: stages.STAGES.index(values.stage))
    names = listed(first.names, MOST_NAMED)
    where = (
        "each replica's gradients are rounded before they are combined" if first.before else f"its {first.stage} are"
    )
    return Finding(
        f"The port computes in {first.format}: {where if first.before else where + ' of that format'} ({names}).",
        HIGH,
        f"every number of {counted(len(first.names), 'variable')} needs no more bits than {first.format} has; "
        "legacy's need more",
        {"stage": first.stage, "format": first.format, "before": first.before},
        variables=first.names,
    )


def _inject_swap(finding: Finding, setup: Setup) -> injection.Change | None:
    """Injects the swap of gradients, statistics or averages; of other stages None."""
    stage, sources = finding.constants["stage"], dict(finding.constants["sources"])
    if stage in (stages.GRADIENTS, stages.COMBINED):
        return swapped_gradients(sources, combined=stage == stages.COMBINED)
    if stage not in (stages.STATISTICS, stages.AVERAGES) or any(name == source for name, source in sources.items()):
        return None

    class Step(ReplicaStep):
        """Gives statistics, or averages, the values of other variables."""

        def _update_statistics(
            self, context: tf.distribute.ReplicaContext, local: LocalState, updates: Tensors
        ) -> None:
            super()._update_statistics(context, local, _taken(updates, sources if stage == stages.STATISTICS else {}))

        def _update_averages(self, local: LocalState) -> None:
            swapped = {source: name for name, source in sources.items()} if stage == stages.AVERAGES else {}
            averages = {**local.averages, **{source: local.averages[name] for source, name in swapped.items()}}
            super()._update_averages(dataclasses.replace(local, averages=averages))

    return injection.in_replica_step(Step)


def _taken(tensors: Tensors, sources: Mapping[str, str]) -> Tensors:
    """Returns the tensors with those in `sources` taken from other variables."""
    return {name: tensors[sources.get(name, name)] for name in tensors}


def same_shape(workload: Workload, trainable: bool = True) -> tuple[str, str] | None:
    """Returns the names of the first two variables of one shape and several numbers; None where there are no two.

    Args:
      workload: the model.
      trainable: whether to look among the weights, or among the statistics.
    """
    seen: dict[tuple[int, ...], str] = {}
    for spec in trace(workload):
        if spec.trainable is trainable and max(spec.shape, default=1) > 1:
            if spec.shape in seen:
                return seen[spec.shape], spec.name
            seen[spec.shape] = spec.name
    return None


def swap_two(workload: Workload, tensors: Tensors, trainable: bool = True) -> Tensors:
    """Returns {name: tensor} with the values of the first two variables of one shape swapped.

    Args:
      workload: the model.
      tensors: values by variable.
      trainable: as for `same_shape`.

    Returns:
      all tensors.
    """
    pair = same_shape(workload, trainable)
    if pair is None:
        return tensors
    first, second = pair
    return {**tensors, first: tensors[second], second: tensors[first]}


class _SwappedGradients(ReplicaStep):
    """Gives two weights of one shape each other's combined gradients."""

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        return swap_two(self._job.workload, super()._combine(context, gradients))


class _SwappedStatistics(ReplicaStep):
    """Gives two statistics of one shape each other's new values."""

    def _update_statistics(self, context: tf.distribute.ReplicaContext, local: LocalState, updates: Tensors) -> None:
        super()._update_statistics(context, local, swap_two(self._job.workload, updates, trainable=False))


class _SwappedAverages(ReplicaStep):
    """Averages two weights of one shape into each other's averages."""

    def _update_averages(self, local: LocalState) -> None:
        swapped = swap_two(self._job.workload, local.averages)
        super()._update_averages(dataclasses.replace(local, averages=swapped))


class _HalfGradients(ReplicaStep):
    """Rounds each replica's gradients to float16 before they are combined, as a compressed all-reduce does."""

    def _combine(self, context: tf.distribute.ReplicaContext, gradients: Tensors) -> Tensors:
        import tensorflow as tf

        return super()._combine(
            context, {name: tf.cast(tf.cast(g, tf.bfloat16), g.dtype) for name, g in gradients.items()}
        )


class _HalfSlots(injection.WrappedRules):
    """Keeps the slots in bfloat16."""

    def apply(self, local: LocalState, gradients: Tensors, rate: tf.Tensor) -> None:
        import tensorflow as tf

        self._rules.apply(local, gradients, rate)
        for name, slot in local.slots.items():
            if "/" in name:
                slot.assign(tf.cast(tf.cast(slot.read_value(), tf.bfloat16), slot.dtype))


def _with_two_alike(workload: Workload) -> Workload | None:
    return injection.without_clip(workload) if same_shape(workload) else None


def _with_averages_of_two_alike(workload: Workload) -> Workload | None:
    average = injection.with_fields(moving_average=MovingAverage(0.9, warm_up=False))
    return average(workload) if same_shape(workload) else None


def _with_two_statistics(workload: Workload) -> Workload | None:
    return workload if same_shape(workload, trainable=False) else None


def _with_slots(workload: Workload) -> Workload | None:
    return workload if workload.optimizer.slots() else None


CAUSES = (
    Cause(
        id="SWAPPED_VARIABLES",
        stage=stages.GRADIENTS,
        title="a variable has another variable's values",
        signature="The values of one variable agree to rounding with those that another variable of its shape should "
        "have (or with its own, transposed), and not with its own",
        why="Lists of variables and of gradients, averages or statistics that were put together by position are in "
        "another order on the two sides.",
        fix="Match variables by name.",
        criterion=swapped_variables,
        change=_inject_swap,
        faults=(
            Fault("swapped_gradients", injection.in_replica_step(_SwappedGradients), _with_two_alike),
            Fault("swapped_statistics", injection.in_replica_step(_SwappedStatistics), _with_two_statistics),
            Fault("swapped_averages", injection.in_replica_step(_SwappedAverages), _with_averages_of_two_alike),
        ),
        by_step=False,
    ),
    Cause(
        id="HALF_PRECISION",
        stage=stages.GRADIENTS,
        title="half precision in one place",
        signature="All numbers of a tensor have no more significant bits than bfloat16 (8) or float16 (11) holds",
        why="Mixed precision of a layer, compressed gradients in the all-reduce, or slots that are kept in half "
        "precision.",
        fix="Compute in legacy's precision for parity.",
        criterion=half_precision,
        faults=(
            Fault("gradients_compressed", injection.in_replica_step(_HalfGradients), injection.without_clip),
            Fault("slots_in_half_precision", injection.in_update_rules(_HalfSlots), _with_slots),
            Fault(
                "dense_layers_in_half_precision",
                faulty_layers.HALF_DENSE,
                faulty_layers.with_weights("last/weights"),
            ),
        ),
    ),
)
