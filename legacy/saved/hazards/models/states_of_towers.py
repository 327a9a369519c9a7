"""Hazards of a recurrent state that one tower leaves to the next one, or that all towers share."""

from __future__ import annotations

import collections
import functools
from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.kept_shares import keeps_a_share
from workloads.lifted.graph import device_of
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, counted, listed


def states_of_other_towers(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds losses of several devices, by the same weights, of which one is computed from another's results.

    Layers on several devices have one loss, and devices that read other weights are parts of one model. What a loop
    leaves goes one way; devices that take each other's results exchange them, as moments of all their examples.
    """
    towers = found.context.towers
    if towers.count > 1 or not towers.doubt:
        return
    graph = whole.graph
    placed = {target: _device(whole, target) for target in whole.targets}
    losses = {device: target for target, device in placed.items() if device is not None}
    for device, loss in sorted(losses.items()) if len(losses) > 1 else []:
        before = graph.ancestors([loss], controls=False)
        for name in [name for name in graph.nodes if name in before and _device(whole, name) == device]:
            for producer in [tensor.node for tensor in graph.inputs(name)]:
                other = _device(whole, producer)
                if other in losses and other != device and _is_result(whole, producer):
                    own = graph.ancestors([losses[other]], controls=False)
                    is_exchanged = any(_device(whole, node) == device and _is_result(whole, node) for node in own)
                    is_left = producer in own and not is_exchanged
                    if is_left and own & whole.trainable == before & whole.trainable:
                        yield Hazard(
                            "STATE_OF_ANOTHER_TOWER",
                            name,
                            f"the loss of gpu:{device}, {loss}, is computed from what gpu:{other} computes of other "
                            f"examples: {name} takes {producer}, as where a loop over the towers leaves the state or "
                            "the layer of one in a variable that the next one reads: the towers run one after the "
                            "other",
                            "begin each replica with its own state and layers; for parity keep one replica",
                        )
                        return


def _device(whole: WholeGraph, name: str) -> int | None:
    """The number of a forward node's GPU."""
    found = device_of(whole.graph.nodes[name].device)
    return found.number if found is not None and found.kind == "gpu" and not is_gradient_op(name) else None


def _is_result(whole: WholeGraph, name: str) -> bool:
    """Whether a node depends on data and on trained weights."""
    return name in whole.data and bool(whole.graph.ancestors([name], controls=False) & whole.trainable)


def states_of_all_towers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds a state that several towers read, and that each sets to a result of its own examples; one for all."""
    states = shared_states(whole)
    for variable, names in states.items():
        yield Hazard(
            "STATE_OF_ALL_TOWERS",
            names[0],
            f"{counted(len(states), 'variable')} ({listed(list(states), FEW)}) keep a state of examples for the "
            f"next step, and all towers share them: {listed(names, FEW)} set {variable} in turn, and each tower "
            "begins with what the last one left",
            "a state for each replica; for parity keep the order that the lift fixed",
        )
        return


@functools.lru_cache(maxsize=2)
def shared_states(whole: WholeGraph) -> dict[str, list[str]]:
    """Returns {variable: ops that set it} of the states that several towers set, and from which they compute losses."""
    if whole.count < 2:
        return {}
    sets: dict[str, list[str]] = collections.defaultdict(list)
    for name, variable in whole.writes.items():
        is_state = variable not in whole.trainable and not whole.is_scalar(variable)
        sets_it = name in whole.members and whole.graph.type(name) in op_types.SETS
        if is_state and sets_it and name in whole.data and not keeps_a_share(whole, name):
            sets[variable].append(name)
    return {
        variable: names
        for variable, names in sets.items()
        if len(set().union(*map(whole.data_towers, names))) > 1
        and all(len(whole.data_towers(name)) > 0 for name in names)
        and len(names) == whole.count
        and variable in whole.computed
        and len(_readers(whole, variable)) > 1
    }


def _readers(whole: WholeGraph, variable: str) -> set[int]:
    """The towers that compute with the value of a variable, and depend on data where they do."""
    behind = whole.graph.descendants([variable], controls=False) & whole.computed
    return whole.towers_of(name for name in behind if not is_gradient_op(name))
