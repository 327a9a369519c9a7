"""The plan of a lift whose graph was rewritten to float64."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, List

import tensorflow as tf

from workloads.lifted.double.signatures import WIDER
from workloads.lifted.graph import parse_tensor_name as parse
from workloads.lifted.plan import ControlDependency, ReadVersion, TensorType

if TYPE_CHECKING:
    from workloads.lifted.double.graph_rewriter import Rewritten
    from workloads.lifted.plan import Effect, Phase, Plan


def plan_in_float64(plan: Plan, rewritten: Rewritten) -> Plan:
    """Returns a plan with the dtypes, and the names of nodes, of its rewritten graph."""
    return dataclasses.replace(
        plan,
        variables=[dataclasses.replace(v, dtype=_wider(v.dtype)) for v in plan.variables],
        tensors={name: _type(name, old, rewritten) for name, old in plan.tensors.items()},
        phases=[_phase(phase, rewritten) for phase in plan.phases],
    )


def _wider(dtype: str) -> str:
    number = tf.as_dtype(dtype).as_datatype_enum
    name: str = tf.as_dtype(WIDER.get(number, number)).name
    return name


def _type(name: str, old: TensorType, rewritten: Rewritten) -> TensorType:
    """Returns the type of a tensor."""
    return TensorType(tf.as_dtype(rewritten.dtype(parse(name))).name, old.shape)


def _phase(phase: Phase, rewritten: Rewritten) -> Phase:
    """Returns a phase in which a formula's entrances read what its node read, and wait for what it waited for."""
    versions: List[ReadVersion] = []
    for read in phase.versions:
        readers = [read.node] + rewritten.entrances.get(read.node, [])
        versions += [read._replace(node=reader) for reader in readers]
    return dataclasses.replace(
        phase,
        effects=[_effect(effect, rewritten) for effect in phase.effects],
        versions=versions,
        control_dependencies=_dependencies(phase.control_dependencies, rewritten),
        other_control_dependencies=[_dependencies(other, rewritten) for other in phase.other_control_dependencies],
    )


def _dependencies(edges: List[ControlDependency], rewritten: Rewritten) -> List[ControlDependency]:
    found: List[ControlDependency] = []
    for before, after in edges:
        found += [ControlDependency(before, node) for node in rewritten.entrances.get(after, []) or [after]]
    return found


def _effect(effect: Effect, rewritten: Rewritten) -> Effect:
    """Returns an effect whose arguments are what its op gets: casts of what stayed in float32."""

    def used(tensor: str) -> str:
        cast = rewritten.casts.get(parse(tensor))
        return tensor if cast is None else cast.name

    gradient, rate = effect.gradient, effect.learning_rate
    return dataclasses.replace(
        effect,
        values=[used(value) for value in effect.values],
        gradient=None if gradient is None else used(gradient),
        learning_rate=None if rate is None else used(rate),
    )
