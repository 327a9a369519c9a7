"""The optimizer whose update ops a lifted graph applies, with the constants that the old program gave it."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from workloads.lifted.graph import Graph, parse_tensor_name
from workloads.optimizers import Optimizer, known_optimizers

if TYPE_CHECKING:
    from collections.abc import Collection

    from workloads.lifted.plan import Effect
    from workloads.lifted.workload import LiftedWorkload

#: A value that no constant of an optimizer has, to find the field that it comes from.
_MARK = 0.123


class OtherUpdate(Exception):
    """Raised where the updates of a lift are not those of one known optimizer; its text says why."""


def optimizer_of_lift(workload: LiftedWorkload, weights: Collection[str]) -> Optimizer:
    """Returns the one optimizer that updates a lift's weights, with the constants of the old graph.

    Args:
      workload: the lift.
      weights: names of all its weights.

    Returns:
      the optimizer.

    Raises:
      OtherUpdate: the updates are not those of one known optimizer.
    """
    if len(workload.plan.phases) > 1:
        raise OtherUpdate(f"the lift runs {len(workload.plan.phases)} train ops in turn")
    effects = [effect for effect in workload.plan.phases[0].effects if effect.gradient]
    found = {effect.writes[0]: _optimizer_of_effect(workload, effect) for effect in effects}
    optimizers = set(found.values())
    if len(optimizers) != 1 or set(found) != set(weights):
        listed = ", ".join(sorted({effect.op for effect in effects})) or "none"
        raise OtherUpdate(f"the lift's updates ({listed}) are not those of one optimizer")
    return optimizers.pop()


def update_arguments(effect: Effect) -> dict[str, str]:
    """Returns {argument of an update op: variable or tensor} of an op that an optimizer's kernel implements."""
    names = list(inspect.signature(getattr(tf.raw_ops, _kernel_name(effect))).parameters)
    return dict(zip(names, [*effect.writes, *effect.values]))


def _kernel_name(effect: Effect) -> str:
    """Returns the op type for resource variables; that of reference variables lacks the prefix."""
    return effect.op if effect.op.startswith("Resource") else "Resource" + effect.op


def _optimizer_of_effect(workload: LiftedWorkload, effect: Effect) -> Optimizer:
    """Returns the optimizer whose update an op of the old graph is."""
    kind = next((kind for kind in known_optimizers() if kind().kernel().op == _kernel_name(effect)), None)
    if kind is None or effect.condition is not None:
        raise OtherUpdate(f"{effect.node} ({effect.op}) is no update of a known optimizer")
    given = update_arguments(effect)
    kernel, node = kind().kernel(), workload.graph.nodes[effect.node]
    found = {name: _constant(workload.graph, given[name]) for name in kernel.constants}
    found.update((name, getattr(node.attr[name], "b", value)) for name, value in kernel.attributes.items())
    return kind(**{_field_of(kind, name): value for name, value in found.items()})


def _constant(graph: Graph, tensor: str) -> float:
    node = graph.nodes[graph.origin(parse_tensor_name(tensor)).node]
    if node.op != "Const":
        raise OtherUpdate(f"{tensor} of an update is computed, and not a constant")
    return float(str(tf.make_ndarray(node.attr["value"].tensor)[()]))  # 0.9 of the float32 number 0.899999976


def _field_of(kind: type[Optimizer], argument: str) -> str:
    """Returns the field of an optimizer that sets one argument of its op."""
    for field in dataclasses.fields(kind):
        value: Any = _MARK if not isinstance(getattr(kind(), field.name), bool) else not getattr(kind(), field.name)
        kernel = dataclasses.replace(kind(), **{field.name: value}).kernel()
        if {**kernel.constants, **kernel.attributes}[argument] == value:
            return field.name
    raise OtherUpdate(f"{argument} of {kind.__name__} is not set by one of its fields")
