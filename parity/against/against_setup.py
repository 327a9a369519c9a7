"""Setup of `--against`: a workload as the port, and a lifted graph in a session as the towers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from legacy.rerun.replicated import require_replicable
from parity.against.changes_in_turn import require_one_change_each
from parity.against.counters import find_counters
from parity.against.input_names import match_inputs, with_port_shapes
from parity.against.loss_sizes import averaging_factors, number_below_losses
from parity.against.noise_names import match_noise
from parity.against.port_order import port_order
from parity.against.reference_program import ObservedOldGraph, ObservedReplicas, ReferenceProgram
from parity.against.shared_batches import OldGraphBatches, PortBatches
from parity.against.spare_variables import spare_variables
from parity.against.stated_choices import stated_choices
from parity.against.stated_decay import stated_decay
from parity.against.variable_names import VariableNames, match_variables
from parity.comparison.setup import Setup
from workloads import tracing
from workloads.job import Job
from workloads.lifted.constants import with_constants
from workloads.lifted.double.rewriting import in_float64
from workloads.lifted.graph import Graph, made_dense, parse_tensor_name
from workloads.lifted.model_copies import model_copies
from workloads.lifted.plan import Noise, Phase, Plan
from workloads.lifted.sources import LiftedSynthetic
from workloads.lifted.summed_uses import with_sums_of_uses
from workloads.lifted.workload import LiftedWorkload
from workloads.program import State
from workloads.sources import Source
from workloads.support.errors import InputError, require
from workloads.variable_spec import VariableSpec
from workloads.workload import Workload


@dataclasses.dataclass(frozen=True)
class OldGraph:
    """A lifted graph in terms of a port.

    Attributes:
      workload: the lift, whose inputs have the port's sizes and whose random streams the port's names.
      make_source: function from a job of the lift to its batches.
      names: of the variables.
      specs: the port's variables.
      inputs: {input of the port: input of the old graph}.
      first_state: the lift's checkpoint, in the port's names.
      gradient_factor, loss_factor: see `ReferenceProgram`.
      stated: {field of a workload: value} of the choices that are read from the graph.
    """

    workload: LiftedWorkload
    make_source: Callable[[Job], Source]
    names: VariableNames
    specs: tuple[VariableSpec, ...]
    inputs: dict[str, str]
    first_state: State
    gradient_factor: float
    loss_factor: float
    stated: dict[str, Any] = dataclasses.field(default_factory=dict)

    def batches(self, job: Job) -> Source:
        """Returns the batches of a job of the port, in the old graph's terms."""
        own = self.job(job)
        return OldGraphBatches(own, self.make_source(own))

    def job(self, job: Job) -> Job:
        """Returns the lift's job for a job of the port."""
        return dataclasses.replace(job, workload=self.workload, dtype="float32")

    def port_source(self, job: Job) -> Source:
        """Returns the port's batches."""
        return self._in_port_terms(job, self.batches(job))

    def program(self, setup: Setup) -> ReferenceProgram:
        """Makes the left side of a comparison, in the dtype of the setup's job."""
        workload = in_float64(self.workload) if setup.job.dtype == "float64" else self.workload
        job = dataclasses.replace(setup.job, workload=workload)
        devices = setup.devices()
        batches = self.batches(setup.job)
        order = port_order(workload.plan, workload.graph)
        kind = ObservedOldGraph if job.replicas == workload.plan.towers else ObservedReplicas
        program = kind(job, batches, setup.legacy, devices, order)
        specs = [spec._replace(dtype=setup.job.dtype) for spec in self.specs]
        shown = self._in_port_terms(setup.job, batches)
        reference = ReferenceProgram(
            program, workload, self.names, shown, specs, self.gradient_factor, self.loss_factor
        )
        reference.load(self.first_state)
        return reference

    def _in_port_terms(self, job: Job, batches: Source) -> PortBatches:
        return PortBatches(job, batches, self.inputs, self.workload.copied(self.inputs))


def old_graph_of(
    lift: LiftedWorkload,
    job: Job,
    settings: dict[str, object] | None = None,
    make_source: Callable[[Job], Source] | None = None,
) -> OldGraph:
    """Finds the tensors and variables of a lift that correspond to those of a port.

    Args:
      lift: the lifted workload.
      job: of the port.
      settings: {input: value} of the old graph's scalar inputs.
      make_source: function from a job of the lift to its batches; None for made-up ones.

    Returns:
      the old graph, in terms of the port.

    Raises:
      InputError: something is on one side only.
    """
    _check_job(lift, job)
    plan, graph = with_sums_of_uses(lift.plan, lift.graph)
    lift, port, settings = dataclasses.replace(lift, plan=plan, graph=graph), job.workload, settings or {}
    specs = tracing.trace(port, job.per_replica_batch, job.dtype)
    values = lift.values()
    counted = find_counters(plan, lift.graph, values, lift.initial_state().step)
    spare = {name: values[name] for name in spare_variables(plan, lift.graph)}
    copies = model_copies(plan, lift.graph, values)
    names = match_variables(plan, counted.counters, port, specs, spare, copies)
    inputs = match_inputs(plan, port.inputs(), settings)
    drawn = tracing.trace_noise(port, job.per_replica_batch, job.dtype)
    noise = match_noise(plan, drawn)
    adapted = dataclasses.replace(lift, plan=_adapted(plan, lift.graph, port, inputs, noise))
    state = names.port_state(counted.first_step, values)
    gradient_factor, loss_factor = _factors(lift, job)
    return OldGraph(
        workload=adapted,
        make_source=make_source or functools.partial(LiftedSynthetic, settings=settings),
        names=names,
        specs=specs,
        inputs=inputs,
        first_state=state,
        gradient_factor=gradient_factor,
        loss_factor=loss_factor,
        stated={
            **stated_choices(lift, [counter.name for counter in counted.counters]),
            **stated_decay(lift, gradient_factor),
        },
    )


def _factors(lift: LiftedWorkload, job: Job) -> tuple[float, float]:
    """Returns the factors from the lift's gradients and losses to the port's; see `averaging_factors`."""
    plan, phase, port = lift.plan, lift.plan.phases[0], job.workload
    divides = port.combine == "sum" and tracing.asks_for_replicas(port, job.per_replica_batch, job.dtype)
    size = number_below_losses(plan, lift.graph, phase, job.global_batch)
    return averaging_factors(phase, port, plan.towers, job.replicas if divides else plan.towers, size)


def _check_job(lift: LiftedWorkload, job: Job) -> None:
    """Raises `InputError` unless the job can be compared with the lift at all: kind, dtype, replicas and batch."""
    port, plan = job.workload, lift.plan
    require(not port.is_lifted, "--workload", port.name, "with --against: a workload, not a lift")
    require(job.dtype == "float32", "--dtype", job.dtype, "with --against: float32")
    if job.replicas != plan.towers:
        require_replicable(plan, job.replicas)
        require_one_change_each(plan, lift.graph, job.replicas)
    if len(plan.phases) > 1:
        trained = ", ".join(phase.train_op for phase in plan.phases)
        raise InputError(f"--against: got {lift.name!r}, which runs {trained} in turn; a workload has one update")
    require_comparable(plan.phases[0], port)
    lift.check_size(job.replicas, job.per_replica_batch)


def require_comparable(phase: Phase, port: Workload) -> None:
    """Raises `InputError` unless the old graph has a tensor for each loss and gradient of a workload's step."""
    reason = ""
    written_by_hand = [e.writes[0] for e in phase.effects if e.writes[0] in phase.gradients[0] and not e.gradient]
    if not phase.losses:
        reason = "does not tell what is minimized"
    elif written_by_hand:
        reason = f"updates {written_by_hand[0]!r} by ops of its own, which no optimizer of a workload has"
    elif not all(phase.raw) and port.clip is not None and port.clip.where == "tower":
        reason = "does not tell its towers' gradients before they are clipped"
    if reason:
        raise InputError(f"--against: the old graph {reason}, so that {port.name!r} cannot be compared with it")


def setup_against(setup: Setup, old: OldGraph) -> Setup:
    """Returns a port's setup with the old graph on the left side, the same batches and the same first state."""
    made = dataclasses.replace(
        setup, make_source=old.port_source, towers=old.program, first_state=old.first_state, stated=old.stated
    )
    return dataclasses.replace(made, with_clip=functools.partial(_with_clip, made, old))


def _with_clip(setup: Setup, old: OldGraph, limit: float) -> Setup | None:
    """Returns a setup in which both sides clip at another limit; None if the old graph has no constant like the port's.

    Args:
      setup: of the port and the old graph.
      old: the old graph.
      limit: the new one.
    """
    port, phase, graph = setup.job.workload, old.workload.plan.phases[0], old.workload.graph
    if port.clip is None:
        return None
    before = [*phase.losses, *(name for tower in phase.raw or phase.gradients for name in tower.values())]
    of_towers = graph.ancestors([parse_tensor_name(name).node for name in before], controls=False)
    names = [name for name in graph.of_types("Const") if name not in of_towers]
    own = np.float32(port.clip.limit)
    limits = {name: np.asarray(limit, np.float32) for name in names if _number(graph, name) == own}
    changed = with_constants(old.workload, limits) if limits else None
    if changed is None:
        return None
    workload = dataclasses.replace(port, clip=dataclasses.replace(port.clip, limit=limit))
    graph_there = dataclasses.replace(old, workload=changed)
    job = dataclasses.replace(setup.job, workload=workload)
    return dataclasses.replace(setup, job=job, towers=graph_there.program, make_source=graph_there.port_source)


def _number(graph: Graph, name: str) -> np.float32 | None:
    """The number that a constant of one float32 is; None for any other."""
    value = tf.make_ndarray(graph.nodes[name].attr["value"].tensor)
    return np.float32(value.item()) if value.dtype == np.float32 and value.size == 1 else None


def _adapted(plan: Plan, graph: Graph, port: Workload, inputs: dict[str, str], noise: dict[str, str]) -> Plan:
    """Returns the plan with the port's sizes of inputs, its names of random streams, and gradients before clipping."""
    specs = {old: port.inputs()[name] for name, old in inputs.items()}

    def renamed(entry: Noise) -> Noise:
        return dataclasses.replace(entry, name=noise.get(entry.name, entry.name))

    phase = plan.phases[0]
    if all(phase.raw):
        raw = [{name: made_dense(graph, tensor) for name, tensor in tower.items()} for tower in phase.raw]
        phase = dataclasses.replace(phase, gradients=raw or phase.gradients)
    return dataclasses.replace(
        plan,
        phases=[phase],
        inputs=[with_port_shapes(e, specs[e.name]) if e.name in specs else e for e in plan.inputs],
        common=[with_port_shapes(e, specs[e.name]) if e.name in specs else e for e in plan.common],
        noise=[renamed(entry) for entry in plan.noise],
        common_noise=[renamed(entry) for entry in plan.common_noise],
    )
