"""Hazards of placement: towers on the CPU, on each other's device, or with all backward passes on one device."""

from __future__ import annotations

import collections
from collections.abc import Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph.flops import COMPUTE, count_flops
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from legacy.saved.hazards.basics.weighed_values import made_by_weights
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: A device function that goes by types of ops names at least as many of them.
FEWEST_TYPES = 3


def misplaced_towers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers that compute on the CPU, or on each other's device: a tf.device in the wrong place."""
    if whole.count < 2:
        return
    # Not copies that act or evaluate, nor filters that prepare images, which may well be on the CPU.
    trained = (whole.reach & made_by_weights(whole)) or whole.labels.keys()
    compute = {name: t for name, t in whole.labels.items() if whole.graph.type(name) in COMPUTE and name in trained}
    devices = {name: _device(whole, name) for name in compute}
    forward = [name for name in compute if not is_gradient_op(name)]
    mains = _main_devices(compute, devices, forward)
    backward = list(_backward_on_one_device(whole, mains, compute)) if len(mains) == whole.count else []
    on_cpu = [tower for tower, device in mains.items() if "cpu" in device]
    if len(mains) == whole.count and on_cpu and len(on_cpu) < whole.count:
        for tower in on_cpu:
            yield _elsewhere(tower, mains, next(name for name in forward if compute[name] == tower))
    elif len(_named_devices(whole)) > 1 or _are_combined(whole):
        # Workers that update alone are all on one CPU on purpose; backward passes there have a hazard of their own.
        yield from _towers_on_the_cpu(whole, {name: compute[name] for name in forward} if backward else compute)
    if len(mains) < whole.count:
        return
    yield from _shared_devices(mains, compute, forward, devices)
    yield from backward


def _device(whole: WholeGraph, name: str) -> str:
    """A node's device as "gpu:0", with job and task before it where it has them; "" if it has none."""
    return whole.graph.nodes[name].device.lower().replace("device:", "").lstrip("/")


def _named_devices(whole: WholeGraph) -> set[str]:
    """The devices that towers name for their losses and gradients."""
    names = [name for name in whole.labels if name in whole.minimized or is_gradient_op(name)]
    return {_device(whole, name) for name in names} - {""}


def _are_combined(whole: WholeGraph) -> bool:
    """Whether an update depends on the gradients of several towers."""
    before = (whole.graph.ancestors([apply], controls=False) for apply in whole.applies)
    return any(len(whole.towers_of(filter(is_gradient_op, names))) > 1 for names in before)


def _main_devices(compute: dict[str, int], devices: dict[str, str], forward: list[str]) -> dict[int, str]:
    """{tower: the device of most of its forward pass}; without the towers that have no device."""
    counts: dict[int, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for name in forward:
        if devices[name]:
            counts[compute[name]][devices[name]] += 1
    return {tower: counts[tower].most_common(1)[0][0] for tower in sorted(counts)}


def _elsewhere(tower: int, mains: dict[int, str], op: str) -> Hazard:
    others = ", ".join(sorted({device for device in mains.values() if "cpu" not in device}))
    return Hazard(
        "TOWER_ON_CPU",
        op,
        f"tower {tower} computes on {mains[tower]}, the others on {others}",
        "MirroredStrategy takes devices of one kind; the step waits for the slowest replica",
    )


def _shared_devices(
    mains: dict[int, str], compute: dict[str, int], forward: list[str], devices: dict[str, str]
) -> Iterator[Hazard]:
    """Finds GPUs on which several towers compute, wholly or in part."""
    towers_of = collections.defaultdict(list)
    for tower, device in mains.items():
        towers_of[device].append(tower)
    for device, towers in towers_of.items():
        if len(towers) > 1 and "gpu" in device:
            yield Hazard(
                "TOWERS_SHARE_DEVICE",
                next(name for name in forward if compute[name] == towers[1]),
                f"{listed_towers(towers)} compute on {device}, one after the other",
                "give every replica a device of its own",
            )
    for tower, device in mains.items():
        mine = [name for name in forward if compute[name] == tower]
        away = [n for n in mine if "gpu" in devices[n] and devices[n] != device and devices[n] in towers_of]
        if away and len(towers_of) == len(mains):
            yield Hazard(
                "TOWERS_SHARE_DEVICE",
                away[0],
                f"tower {tower}: {len(away)} of {len(mine)} matrix products and convolutions of its forward pass are "
                f"placed on {devices[away[0]]}, another tower's device, the rest on {device}",
                "remove the inner tf.device: a replica function runs on its own device",
            )


def _backward_on_one_device(whole: WholeGraph, mains: dict[int, str], compute: dict[str, int]) -> Iterator[Hazard]:
    """Finds backward passes of towers with devices of their own that have no device, or all the same."""
    backward = [name for name in compute if is_gradient_op(name)]
    devices = {_device(whole, name) for name in backward}
    if len(set(mains.values())) == whole.count and len(backward) > 1 and len(devices) == 1:
        place = f"all on {max(devices)}" if max(devices) else "without a device, so all on TensorFlow's first one"
        yield Hazard(
            "BACKWARD_ON_ONE_DEVICE",
            backward[0],
            f"the forward passes of the {whole.count} towers are on devices of their own, the backward passes {place}",
            "a replica's backward pass runs on its own device; the old program lacked colocate_gradients_with_ops=True",
        )


def _towers_on_the_cpu(whole: WholeGraph, compute: dict[str, int]) -> Iterator[Hazard]:
    """Finds towers that compute on a CPU which other towers use too: `tf.device('/cpu:0')` in the loop over GPUs."""
    flops: dict[str, int] = {}
    for tower in whole.towers():
        mine = [name for name, t in compute.items() if t == tower]
        here = [name for name in mine if _is_on_cpu(whole, name)]
        if not here or not _shares_device(whole, here, compute) or _are_placed_by_type(whole, tower):
            continue
        flops = flops or count_flops(whole.graph)
        ops = [name for name, t in whole.labels.items() if t == tower]
        total, there = sum(flops.get(name, 0) for name in mine), sum(flops.get(name, 0) for name in here)
        share = f"{there / total:.0%} of its floating-point operations" if total else "their size is unknown"
        yield Hazard(
            "TOWER_ON_CPU",
            here[0],
            f"tower {tower}: {sum(_is_on_cpu(whole, name) for name in ops)} of {len(ops)} ops and {len(here)} of "
            f"{len(mine)} matrix products and convolutions ({share}) are placed on "
            f"{whole.graph.nodes[here[0]].device}, where other towers compute too",
            "remove the inner tf.device('/cpu:0'): a replica function runs on its own device; only variables move",
        )


def _are_placed_by_type(whole: WholeGraph, tower: int) -> bool:
    """Whether a tower has several types of ops on the CPU alone, and none on both: its author's device function."""
    types: dict[bool, set[str]] = {True: set(), False: set()}
    for name, label in whole.labels.items():
        if label == tower and whole.graph.nodes[name].device:
            types[_is_on_cpu(whole, name)].add(whole.graph.type(name))
    return len(types[True]) >= FEWEST_TYPES and bool(types[False]) and not types[True] & types[False]


def _is_on_cpu(whole: WholeGraph, name: str) -> bool:
    return "cpu" in whole.graph.nodes[name].device.lower()


def _shares_device(whole: WholeGraph, names: list[str], compute: dict[str, int]) -> bool:
    """Whether another tower computes on a device of some nodes of one tower."""
    devices = {whole.graph.nodes[name].device for name in names}
    return any(
        whole.graph.nodes[name].device in devices and tower != compute[names[0]] for name, tower in compute.items()
    )
