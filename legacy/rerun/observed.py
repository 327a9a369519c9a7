"""The tensors that a step's record fetches of a saved graph: copies of those that the step itself changes.

A session's fetch of a reference variable has the value at the end of the step. A learning rate, or a sum of gradients
that an update takes as it is, may change after its use; so an op copies it before.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Dict, List

if TYPE_CHECKING:
    from collections.abc import Collection

    from workloads.lifted.plan import Phase, Plan


def learning_rate_tensors(phase: Phase) -> list[str]:
    """Returns the tensors of a phase's learning rates, each once, in the order of its updates."""
    return list(dict.fromkeys(effect.learning_rate for effect in phase.effects if effect.learning_rate))


def gradient_tensors(phase: Phase) -> dict[str, str]:
    """Returns {weight: tensor of the gradient that its update takes}."""
    return {effect.writes[0]: effect.gradient for effect in phase.effects if effect.gradient}


def observed_rates(phase: Phase, copied: Collection[str]) -> list[str]:
    """Returns the tensors to fetch for a phase's learning rates; `copied` are those of `changed_tensors`."""
    return [_copy_of(tensor) if tensor in copied else tensor for tensor in learning_rate_tensors(phase)]


def observed_gradients(phase: Phase, copied: Collection[str]) -> dict[str, str]:
    """Returns {weight: tensor to fetch for the gradient that its update takes}; see `observed_rates`."""
    tensors = gradient_tensors(phase)
    return {weight: _copy_of(tensor) if tensor in copied else tensor for weight, tensor in tensors.items()}


def copy_name(tensor: str) -> str:
    """Returns the name of the op that copies a tensor before the step changes it."""
    return re.sub(r"[^A-Za-z0-9_]", "_", tensor) + "_lift_copy"


def _copy_of(tensor: str) -> str:
    return copy_name(tensor) + ":0"


def changed_tensors(plan: Plan) -> dict[str, list[str]]:
    """Returns {observed tensor that is a variable by reference: ops of the same step that change it after its use}."""
    references = {variable.name for variable in plan.variables if not variable.resource}
    found: Dict[str, List[str]] = {}
    for phase in plan.phases:
        late = {(read.node, read.variable) for read in phase.versions}
        for tensor in [*learning_rate_tensors(phase), *gradient_tensors(phase).values()]:
            variable = plan.aliases.get(tensor)
            users = {effect.node for effect in phase.effects if tensor in (effect.learning_rate, effect.gradient)}
            if variable in references and not any((user, variable) in late for user in users):
                found[tensor] = [effect.node for effect in phase.effects if variable in effect.writes]
    return {tensor: nodes for tensor, nodes in found.items() if nodes}
