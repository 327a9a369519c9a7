"""Hazards of the towers themselves: their devices, their way to the update ops, the variables that they share."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator

from legacy.saved.facts.whole_graph import WholeGraph
from legacy.saved.graph.flops import COMPUTE, count_flops
from legacy.saved.hazards.hazard import Hazard
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted, plural

#: Ops that hand on the value of a variable.
READS = ("Identity", "ReadVariableOp", "Enter", "RefEnter", "Cast")
#: Ops that use a variable, but do not compute with it.
BOOKKEEPING = ("Assign", "AssignVariableOp", "SaveV2")
#: So many variables are listed; a program that leaves out one mostly leaves out many.
MOST_VARIABLES = 8


def misplaced_towers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers that compute on the CPU, or on each other's device: a tf.device in the wrong place."""
    if whole.count < 2:
        return
    compute = {name: t for name, t in whole.labels.items() if whole.graph.type(name) in COMPUTE}
    devices = {name: _device(whole, name) for name in compute}
    forward = [name for name in compute if not is_gradient_op(name)]
    mains = _main_devices(compute, devices, forward)
    on_cpu = [tower for tower, device in mains.items() if "cpu" in device]
    if len(mains) == whole.count and on_cpu and len(on_cpu) < whole.count:
        for tower in on_cpu:
            yield _elsewhere(tower, mains, next(name for name in forward if compute[name] == tower))
    else:
        yield from _towers_on_the_cpu(whole, compute)
    if len(mains) < whole.count:
        return
    yield from _shared_devices(mains, compute, forward, devices)
    yield from _backward_on_one_device(whole, mains, compute)


def _device(whole: WholeGraph, name: str) -> str:
    """A node's device as "gpu:0", with job and task before it where it has them; "" if it has none."""
    return whole.graph.nodes[name].device.lower().replace("device:", "").lstrip("/")


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
                f"{_listed_towers(towers)} compute on {device}, one after the other",
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
        if not here or not _shares_device(whole, here):
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


def _is_on_cpu(whole: WholeGraph, name: str) -> bool:
    return "cpu" in whole.graph.nodes[name].device.lower()


def _shares_device(whole: WholeGraph, names: list[str]) -> bool:
    """Whether another tower computes on a device of some nodes of one tower."""
    devices = {whole.graph.nodes[name].device for name in names}
    mine = whole.labels[names[0]]
    return any(
        whole.graph.nodes[name].device in devices and tower != mine and whole.graph.type(name) in COMPUTE
        for name, tower in whole.labels.items()
    )


def unused_gradients(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers whose gradients reach no update op: the combining step drops or overwrites them."""
    backward = {tower: whole.backward(tower) for tower in whole.towers()}
    every = [name for name in whole.graph.nodes if is_gradient_op(name)]
    if not every:
        return
    if not whole.applies:
        yield Hazard(
            "GRADIENTS_NOT_APPLIED",
            next((names[0] for names in backward.values() if names), every[0]),
            f"{counted(whole.count, 'tower computes', 'towers compute')} gradients and no op updates a "
            "variable with them",
            "check that the averaging helper appends and returns every gradient, then that apply_gradients gets them",
        )
        return
    if whole.count < 2:
        return
    lost = [tower for tower, names in backward.items() if names and not whole.reach & set(names)]
    for tower in lost:
        yield Hazard(
            "GRADIENTS_DROPPED",
            backward[tower][-1],
            f"none of the {len(backward[tower])} ops of tower {tower}'s backward pass reaches an update op: its "
            "examples train nothing",
            "an all-reduce over all replicas does what was meant; for parity with the old program, document the change",
        )
    yield from _updates_of_some_towers(whole, set(whole.towers()) - set(lost))


def _updates_of_some_towers(whole: WholeGraph, contributing: set[int]) -> Iterator[Hazard]:
    """Finds variables that only some of the contributing towers' gradients reach."""
    updates: dict[tuple[int, ...], list[str]] = collections.defaultdict(list)
    labels = {name: 1 << tower for name, tower in whole.labels.items() if is_gradient_op(name)}
    arriving = whole.graph.flow(whole.graph.order(whole.reach), labels, controls=False)
    for apply in whole.applies:
        reached = {tower for tower in whole.towers() if arriving.get(apply, 0) >> tower & 1}
        if reached and reached != contributing and (not whole.trainable or whole.variable_of(apply) in whole.trainable):
            updates[tuple(sorted(reached))].append(apply)
    alone = len(updates) > 1 and all(len(towers) == 1 for towers in updates)  # each tower trains variables of its own
    sets = [{whole.variable_of(apply) for apply in applies} for applies in updates.values()]
    if alone and len(sets) == whole.count and all(names == sets[0] for names in sets):
        listed = ", ".join(sorted(str(name) for name in sets[0])[:3])
        yield Hazard(
            "TOWERS_UPDATE_ALONE",
            next(iter(updates.values()))[0],
            f"each of the {whole.count} towers updates {counted(len(sets[0]), 'variable')} ({listed}) by itself: "
            f"{whole.count} updates a step, each from one tower's gradient",
            "one update from the reduced gradient; for what the old program did, parameter servers without a barrier",
        )
        return
    for towers, applies in updates.items():
        names = [whole.variable_of(apply) for apply in applies]
        listed = ", ".join(str(name) for name in names[:3])
        yield Hazard(
            "TOWERS_UPDATE_ALONE" if alone else "GRADIENTS_DROPPED",
            applies[0],
            f"{counted(len(names), 'variable')} ({listed}) get the gradients of {_listed_towers(towers)} only",
            "reduce every replica's gradient of every variable",
        )


def _listed_towers(towers: Collection[int]) -> str:
    return plural(len(towers), "tower ", "towers ") + ", ".join(map(str, sorted(towers)))


def unshared_variables(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds variables that not all towers read, or that each tower has for itself."""
    if whole.count < 2:
        return
    readers = {}
    for variable in sorted(whole.trainable & set(whole.graph.nodes)):
        forward = {name for name in _readers(whole, variable) if not is_gradient_op(name)}
        readers[variable] = whole.towers_of(forward)
    some = {name: towers for name, towers in readers.items() if towers and len(towers) < whole.count}
    alone = collections.Counter(next(iter(towers)) for towers in some.values() if len(towers) == 1)
    if len(alone) == whole.count and len(set(alone.values())) == 1 and len(some) == sum(alone.values()):
        if _are_trained_by_all_towers(whole, some):
            return  # copies of one model, each updated with all towers' gradients
        yield Hazard(
            "VARIABLES_NOT_SHARED",
            next(iter(some)),
            f"every tower has {counted(next(iter(alone.values())), 'variable')} of its own: "
            "the towers train separate models",
            "one set of mirrored variables made in strategy.scope(); decide which tower's values to keep",
        )
        return
    for name, towers in list(some.items())[:MOST_VARIABLES]:
        yield Hazard(
            "VARIABLE_OF_SOME_TOWERS",
            name,
            f"read by {_listed_towers(towers)} of {whole.count} only",
            "every replica runs the same function: make all of them use it, or leave it out",
        )


def _are_trained_by_all_towers(whole: WholeGraph, variables: Collection[str]) -> bool:
    """Whether each of some variables is updated, with the gradients of every tower."""
    labels = {name: 1 << tower for name, tower in whole.labels.items() if is_gradient_op(name)}
    arriving = whole.graph.flow(whole.graph.order(whole.reach), labels, controls=False)
    updates = [apply for apply in whole.applies if whole.variable_of(apply) in variables]
    complete = all(arriving.get(apply, 0) == (1 << whole.count) - 1 for apply in updates)
    return complete and {whole.variable_of(apply) for apply in updates} == set(variables)


def _readers(whole: WholeGraph, variable: str) -> set[str]:
    """Nodes that compute with a variable, found through what only hands its value on."""
    todo = [variable]
    seen: set[str] = set()
    while todo:
        users = {user for user, _, _ in whole.graph.users(todo.pop())} - seen
        seen |= users
        todo += [user for user in users if whole.graph.type(user) in READS]
    return {name for name in seen if whole.graph.type(name) not in BOOKKEEPING}
