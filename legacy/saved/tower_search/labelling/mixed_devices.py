"""Labels of towers on devices of different kinds, such as two GPUs and the CPU, by the backward passes that are there.

The CPU also has the variables, the inputs and what combines gradients, so that its place alone tells no tower.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from legacy.saved.graph.op_types import VARIABLES, is_source
from workloads.lifted.graph import Graph, device_of
from workloads.lifted.graph.devices import Device
from workloads.lifted.tensors import gradient_names


def labels_of_both_kinds(graph: Graph, placed: Mapping[str, str]) -> dict[str, int]:
    """Returns labels by devices of different kinds that have backward passes of their own.

    Args:
      graph: a graph.
      placed: {node: its device string}, without nodes that are placed where a variable is.

    Returns:
      {node: number}, numbered in the order in which the backward passes were made; empty where all devices with
      backward passes are of one kind, or where one has no data, as that of a penalty, or takes what another makes of
      the variables.
    """
    devices = {name: device_of(device) for name, device in placed.items()}
    backward: dict[Device, list[str]] = {}
    for name in [name for name in graph.nodes if gradient_names.is_gradient_op(name)]:
        device = devices.get(name) or devices.get(gradient_names.forward_name(name, graph.nodes) or "")
        if device is not None:
            backward.setdefault(device, []).append(name)
    if len({device.kind for device in backward}) < 2:
        return {}
    passes = {device: graph.ancestors(names, controls=False) for device, names in backward.items()}
    owners = {name: device for device, names in backward.items() for name in names}
    if any(owners.get(name, device) != device for device, names in passes.items() for name in names):
        return {}
    own = _alone(passes)
    variables = graph.of_types(*VARIABLES)
    of_variables = graph.descendants(variables, controls=False) - set(variables)
    data = graph.descendants(graph.of_kind(is_source), controls=False)
    for device, names in own.items():
        if names.isdisjoint(data) or any(devices.get(name) not in (None, device) for name in names & of_variables):
            return {}
    behind = _alone({device: graph.descendants(names, controls=False) for device, names in own.items()})
    labels = {}
    for number, device in enumerate(backward):
        members = {*own[device], *behind[device]}
        labels.update({name: number for name in members if devices.get(name) == device})
        labels.update({name: number for name in backward[device]})
    return labels


def _alone(reached: Mapping[Device, Iterable[str]]) -> dict[Device, set[str]]:
    """{device: the nodes of it that no other device has} of {device: nodes}."""
    counts: dict[str, int] = {}
    for names in reached.values():
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    return {device: {name for name in names if counts[name] == 1} for device, names in reached.items()}
