"""Hazard of a recurrent state that one tower leaves to the next one."""

from __future__ import annotations

from collections.abc import Iterator

from legacy.saved.analysis.analyse import Analysis
from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.hazards.basics.hazard import Hazard
from workloads.lifted.graph import device_of
from workloads.lifted.tensors.gradient_names import is_gradient_op


def states_of_other_towers(whole: WholeGraph, found: Analysis) -> Iterator[Hazard]:
    """Finds losses of several devices, by the same weights, of which one is computed from another's results.

    Layers on several devices have one loss, and devices that read other weights are parts of one model.
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
                    if producer in own and own & whole.trainable == before & whole.trainable:
                        yield Hazard(
                            "STATE_OF_ANOTHER_TOWER",
                            name,
                            f"the loss of gpu:{device}, {loss}, is computed from what gpu:{other} computes of other "
                            f"examples: {name} takes {producer}, as where a loop over the towers assigns the state of "
                            "one to the variable that the next one begins with: the towers run one after the other",
                            "begin each replica's sequences with its own state; for parity keep one replica",
                        )
                        return


def _device(whole: WholeGraph, name: str) -> int | None:
    """The number of a forward node's GPU."""
    found = device_of(whole.graph.nodes[name].device)
    return found.number if found is not None and found.kind == "gpu" and not is_gradient_op(name) else None


def _is_result(whole: WholeGraph, name: str) -> bool:
    """Whether a node depends on data and on trained weights."""
    return name in whole.data and bool(whole.graph.ancestors([name], controls=False) & whole.trainable)
