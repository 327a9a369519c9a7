"""One tower of an old graph and the decompiled function, on the same numbers: loss, gradients and statistics."""

import importlib.util
import sys

from legacy.source.made_up_tower import Tower, proof_states
from legacy.source.proof import compare_tower
from legacy.source.step.input_names import input_names, stream_name
from legacy.source.step.statistics import find_statistics

__all__ = ["differing", "input_names", "load", "stream_name"]


def load(path, name):
    """The module of a decompiled program."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def differing(lift, module, tower):
    """Names of what differs by one bit or more between a tower of the old graph and the decompiled function."""
    plan, (phase,) = lift.plan, lift.plan.phases
    settings = {source: getattr(module, name) for name, source in input_names(plan)[1].items()}
    proposals = find_statistics(plan, lift.graph, phase).proposals[tower]
    states = proof_states(plan, lift.values())
    made = Tower(plan, lift.graph, states, settings, proposals, tower, phase, input_names(plan))
    return compare_tower(made, module.tower_loss).differing
