"""A port with a step of its own against its old graph: a lift that runs this workload as its port.

All variables of such a port have the old names, so that both sides' records are those of the lift. What an update gets
(learning rates, combined gradients) is inside the port's functions: it is not compared, the variables are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping

from legacy.source.step.derivatives import weight_gradients, with_derivatives
from parity.against.changes_in_turn import require_one_change_each
from parity.against.input_names import match_inputs, rows_of_all, with_port_shapes
from parity.against.noise_names import contains, match_noise
from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.lifted.plan import Phase, Plan
from workloads.lifted.summed_uses import with_sums_of_uses
from workloads.lifted.workload import LiftedWorkload, PortOfLift
from workloads.program import STATES
from workloads.steps.tracing import TracedStep, first_state
from workloads.steps.workload import StepWorkload
from workloads.support.errors import InputError
from workloads.support.wording import SEVERAL, listed


def with_own_step(
    lift: LiftedWorkload, port: StepWorkload, traced: TracedStep, settings: Mapping[str, object], replicas: int
) -> LiftedWorkload:
    """Returns a lift that runs a workload with a step of its own as its port.

    Args:
      lift: the old graph.
      port: the workload.
      traced: the variables and random numbers of the port's losses.
      settings: {input: value} of the old graph's scalar inputs.
      replicas: number of replicas.

    Returns:
      The lift, which has the port's sizes of inputs.

    Raises:
      InputError: something is on one side only.
    """
    plan, graph = with_sums_of_uses(lift.plan, lift.graph)
    lift = dataclasses.replace(lift, plan=plan, graph=graph)
    ops, functions = [phase.train_op for phase in plan.phases], port.train_ops()
    if len(ops) != len(functions):
        raise InputError(
            f"--against: got {lift.name!r}, which runs {', '.join(ops)}, and the port runs {len(functions)}"
        )
    require_one_change_each(plan, graph, replicas)
    state = first_state(port, traced.specs, 0)
    shapes = {name: list(array.shape) for kind in STATES for name, array in getattr(state, kind).items()}
    _require_variables({variable.name: list(variable.shape) for variable in plan.variables}, shapes, port.name)
    inputs = match_inputs(plan, port.inputs(), settings, own_step=True)
    streams = match_noise(_with_noise_of_losses(plan, graph, traced.noises), traced.noises)
    noise = {own: stream for stream, own in streams.items()}
    return dataclasses.replace(lift, plan=_adapted(lift, port, inputs), port=PortOfLift(port, inputs, noise))


def _with_noise_of_losses(plan: Plan, graph: Graph, drawn: Collection[str]) -> Plan:
    """Returns a plan without the random numbers that only updates draw: a port's update names the streams itself.

    Args:
      plan: of the lift.
      graph: of the lift.
      drawn: names of the noise that the port's losses draw, as that which is added to gradients, for their updates.

    Returns:
      The plan.
    """
    raw = [weight_gradients(plan, graph, phase, t) for phase in plan.phases for t in range(len(phase.gradients))]
    losses = [loss for phase in plan.phases for row in (phase.losses, *phase.other_losses) for loss in row]
    ends = [*losses, *(name for own in raw for name in own.values())]
    inside = graph.ancestors([parse_tensor_name(name).node for name in ends])
    noise, common = (
        [e for e in entries if inside & set(e.nodes) or any(contains(e.name, name) for name in drawn)]
        for entries in (plan.noise, plan.common_noise)
    )
    return dataclasses.replace(plan, noise=noise, common_noise=common)


def _require_variables(old: Mapping[str, list[int]], port: Mapping[str, list[int]], name: str) -> None:
    """Raises `InputError` unless both sides have the same variables; the port may count its steps besides."""
    problems = [f"the port has no {one!r}" for one in old if one not in port]
    problems += [f"the old graph has no {one!r}" for one in port if one not in old]
    both = [one for one in old if one in port]
    problems += [f"{n!r} is {old[n]} in the old graph and {port[n]} in the port" for n in both if old[n] != port[n]]
    if problems:
        raise InputError(
            f"--against: variables of {name!r} and the old graph differ: " + listed(problems, SEVERAL, "; ")
        )


def _adapted(lift: LiftedWorkload, port: StepWorkload, inputs: Mapping[str, str]) -> Plan:
    """Returns a lift's plan with the port's sizes of inputs, and gradients before clipping."""
    specs = {old: port.inputs()[name] for name, old in inputs.items()}
    plan = with_derivatives(lift.plan, lift.graph)

    def adapted(phase: Phase) -> Phase:
        effects = [dataclasses.replace(effect, gradient="", learning_rate="") for effect in phase.effects]
        gradients = [weight_gradients(plan, lift.graph, phase, tower) for tower in range(len(phase.gradients))]
        return dataclasses.replace(phase, effects=effects, gradients=gradients)

    return dataclasses.replace(
        plan,
        phases=[adapted(phase) for phase in plan.phases],
        inputs=[with_port_shapes(e, specs[e.name], rows_of_all(plan)) if e.name in specs else e for e in plan.inputs],
        common=[with_port_shapes(e, specs[e.name], rows_of_all(plan)) if e.name in specs else e for e in plan.common],
    )
