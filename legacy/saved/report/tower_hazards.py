"""Hazards of the towers themselves: their devices, their way to the update ops, the variables that they share."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterator

from legacy.saved.graph.gradient_names import is_gradient_op
from legacy.saved.report.flops import COMPUTE, count_flops
from legacy.saved.report.hazard import Hazard, plural
from legacy.saved.report.whole_graph import WholeGraph

#: Ops that hand on the value of a variable.
READS = ("Identity", "ReadVariableOp", "Enter", "RefEnter", "Cast")
#: Ops that use a variable, but do not compute with it.
BOOKKEEPING = ("Assign", "AssignVariableOp", "SaveV2")
#: So many variables are listed; a program that leaves out one mostly leaves out many.
MOST_VARIABLES = 8


def towers_on_the_cpu(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers that compute on a CPU which other towers use too: `tf.device('/cpu:0')` in the loop over GPUs."""
    if whole.count < 2:
        return
    flops = count_flops(whole.graph)
    for tower in whole.towers():
        mine = [name for name, t in whole.labels.items() if t == tower]
        compute = [name for name in mine if whole.graph.type(name) in COMPUTE]
        here = [name for name in compute if _is_on_cpu(whole, name)]
        if not here or not _shares_device(whole, here):
            continue
        ops = [name for name in mine if _is_on_cpu(whole, name)]
        total, there = sum(flops.get(name, 0) for name in compute), sum(flops.get(name, 0) for name in here)
        share = f"{there / total:.0%} of its floating-point operations" if total else "their size is unknown"
        yield Hazard(
            "TOWER_ON_CPU",
            here[0],
            f"tower {tower}: {len(ops)} of {len(mine)} ops and {len(here)} of {len(compute)} matrix products and "
            f"convolutions ({share}) are placed on {whole.graph.nodes[here[0]].device}, where other towers compute too",
            "remove the inner tf.device('/cpu:0'): a replica function runs on its own device; only variables move",
        )


def _is_on_cpu(whole: WholeGraph, name: str) -> bool:
    return "cpu" in whole.graph.nodes[name].device.lower()


def _shares_device(whole: WholeGraph, names: list[str]) -> bool:
    """Whether another tower computes on a device of some nodes of one tower."""
    devices = {whole.graph.nodes[name].device for name in names}
    mine = whole.labels[names[0]]
    return any(
        node.device in devices and whole.labels.get(name, mine) != mine and node.op in COMPUTE
        for name, node in whole.graph.nodes.items()
    )


def unused_gradients(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds towers whose gradients reach no update op: the combining step drops or overwrites them."""
    backward = {tower: whole.backward(tower) for tower in whole.towers()}
    if not any(backward.values()):
        return
    if not whole.applies:
        yield Hazard(
            "GRADIENTS_NOT_APPLIED",
            next(names[0] for names in backward.values() if names),
            f"{whole.count} {plural(whole.count, 'tower computes', 'towers compute')} gradients and no op updates a "
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
    for apply in whole.applies:
        needs = {name for name in whole.graph.ancestors([apply], controls=False) if is_gradient_op(name)}
        reached = whole.towers_of(needs)
        if reached and reached != contributing:
            updates[tuple(sorted(reached))].append(apply)
    alone = len(updates) > 1 and all(len(towers) == 1 for towers in updates)  # each tower trains variables of its own
    for towers, applies in updates.items():
        names = [whole.variable_of(apply) for apply in applies]
        listed = ", ".join(str(name) for name in names[:3])
        yield Hazard(
            "TOWERS_UPDATE_ALONE" if alone else "GRADIENTS_DROPPED",
            applies[0],
            f"{len(names)} {plural(len(names), 'variable', 'variables')} ({listed}) get the gradients of "
            f"{_listed_towers(towers)} only",
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
        yield Hazard(
            "VARIABLES_NOT_SHARED",
            next(iter(some)),
            f"every tower has {next(iter(alone.values()))} variables of its own: the towers train separate models",
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


def _readers(whole: WholeGraph, variable: str) -> set[str]:
    """Nodes that compute with a variable, found through what only hands its value on."""
    todo = [variable]
    seen: set[str] = set()
    while todo:
        users = {user for user, _, _ in whole.graph.users(todo.pop())} - seen
        seen |= users
        todo += [user for user in users if whole.graph.type(user) in READS]
    return {name for name in seen if whole.graph.type(name) not in BOOKKEEPING}
