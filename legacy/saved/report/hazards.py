"""What is wrong, or easily goes wrong in a port, with a saved tower program: read from its graph, nothing is run.

Each check is a function from `whole.Whole` (and, where the graph can be taken apart, its `analysis.Analysis`) to rows:
which op, what about it, and what to do in `tf.distribute`.
"""

from __future__ import annotations

import collections

from legacy.saved.report import learning_hazards
from legacy.saved.report.whole_graph import COMPUTE, Whole


def find(saved, found=None):
    """Rows {"hazard", "op", "what", "in tf.distribute"}.

    Args:
      saved: `graph_file.SavedGraph`.
      found: its `analysis.Analysis`, or None if there is none.
    """
    whole = Whole(saved)
    rows = [row for check in CHECKS for row in check(whole)]
    rows += [row for check in learning_hazards.OF_GRAPH for row in check(whole)]
    if found is not None:
        rows += [row for check in learning_hazards.OF_ANALYSIS for row in check(whole, found)]
    return rows


def row(hazard, op, what, instead):
    """One hazard."""
    return collections.OrderedDict([("hazard", hazard), ("op", op), ("what", what), ("in tf.distribute", instead)])


def towers_on_the_cpu(whole):
    """System 1's fault: `tf.device('/cpu:0')` inside the loop over GPUs."""
    if whole.count < 2:
        return
    flops = whole.flops()
    for tower in whole.towers():
        mine = [name for name, t in whole.labels.items() if t == tower]
        compute = [name for name in mine if whole.graph.type(name) in COMPUTE]
        here = [name for name in compute if "cpu" in whole.graph.nodes[name].device.lower()]
        if not here or not _shared_device(whole, here):
            continue
        ops = [name for name in mine if "cpu" in whole.graph.nodes[name].device.lower()]
        total, there = sum(flops.get(name, 0) for name in compute), sum(flops.get(name, 0) for name in here)
        share = f"{there / total:.0%} of its floating-point operations" if total else "their size is unknown"
        yield row(
            "TOWER_ON_CPU",
            here[0],
            f"tower {tower}: {len(ops)} of {len(mine)} ops and {len(here)} of {len(compute)} products ({share}) are placed on {whole.graph.nodes[here[0]].device}, as other towers' are",
            "remove the inner tf.device('/cpu:0'): a replica function runs on its own device; only variables move",
        )


def _shared_device(whole, names):
    """Whether another tower computes on the same device."""
    devices = {whole.graph.nodes[name].device for name in names}
    mine = whole.labels[names[0]]
    return any(
        node.device in devices and whole.labels.get(name, mine) != mine and node.op in COMPUTE
        for name, node in whole.graph.nodes.items()
    )


def gradients_that_go_nowhere(whole):
    """A combining step that drops or overwrites towers."""
    backward = {tower: whole.backward(tower) for tower in whole.towers()}
    if not any(backward.values()):
        return
    if not whole.applies:
        first = next(names[0] for names in backward.values() if names)
        yield row(
            "GRADIENTS_NOT_APPLIED",
            first,
            "{} tower{} compute gradients and no op updates a variable with them".format(
                whole.count, "" if whole.count == 1 else "s"
            ),
            "check that the averaging helper appends and returns every gradient, then that apply_gradients gets them",
        )
        return
    if whole.count < 2:
        return
    lost = [t for t, names in backward.items() if names and not whole.reach & set(names)]
    for tower in lost:
        yield row(
            "GRADIENTS_DROPPED",
            backward[tower][-1],
            f"none of the {len(backward[tower])} ops of tower {tower}'s backward pass reaches an update: its examples train nothing",
            "an all-reduce over all replicas does what was meant; for parity with the old program, document the change",
        )
    yield from _partly(whole, set(whole.towers()) - set(lost))


def _partly(whole, alive):
    """Variables that only some of the living towers' gradients reach."""
    rows = collections.defaultdict(list)
    for apply in whole.applies:
        needs = {name for name in whole.graph.ancestors([apply], controls=False) if "_grad/" in name}
        reached = whole.towers_of(needs)
        if reached and reached != alive:
            rows[tuple(sorted(reached))].append(apply)
    own = len(rows) > 1 and all(len(reached) == 1 for reached in rows)  # towers that update what is theirs alone
    for reached, applies in rows.items():
        names = [whole.variable_of(apply) for apply in applies]
        yield row(
            "TOWERS_UPDATE_ALONE" if own else "GRADIENTS_DROPPED",
            applies[0],
            "{} variable{} ({}) get the gradients of tower{} {} only".format(
                len(names),
                "" if len(names) == 1 else "s",
                ", ".join(str(name) for name in names[:3]),
                "" if len(reached) == 1 else "s",
                ", ".join(map(str, reached)),
            ),
            "reduce every replica's gradient of every variable",
        )


def variables_of_some_towers(whole):
    """A variable that not all towers read; or variables that each tower has for itself."""
    if whole.count < 2:
        return
    readers = {}
    for variable in sorted(whole.trainable & set(whole.graph.nodes)):
        forward = {n for n in _users(whole, variable) if "_grad/" not in n}
        readers[variable] = whole.towers_of(forward)
    some = {name: towers for name, towers in readers.items() if towers and len(towers) < whole.count}
    alone = collections.Counter(next(iter(towers)) for towers in some.values() if len(towers) == 1)
    if len(alone) == whole.count and len(set(alone.values())) == 1 and len(some) == sum(alone.values()):
        yield row(
            "VARIABLES_NOT_SHARED",
            next(iter(some)),
            f"every tower has {next(iter(alone.values()))} variables of its own: nothing shares them",
            "one set of mirrored variables made in strategy.scope(); decide which tower's values to keep",
        )
        return
    for name, towers in list(some.items())[:8]:
        yield row(
            "VARIABLE_OF_SOME_TOWERS",
            name,
            "read by tower{} {} of {} only".format(
                "" if len(towers) == 1 else "s", ", ".join(map(str, sorted(towers))), whole.count
            ),
            "every replica runs the same function: make all of them use it, or leave it out",
        )


def _users(whole, variable):
    """Nodes that compute with a variable, found through what only hands its value on."""
    todo, seen = [variable], set()
    while todo:
        name = todo.pop()
        for user, _, _ in whole.graph.users(name):
            if user in seen:
                continue
            seen.add(user)
            if whole.graph.type(user) in ("Identity", "ReadVariableOp", "Enter", "RefEnter", "Cast"):
                todo.append(user)
    return {n for n in seen if whole.graph.type(n) not in ("Assign", "AssignVariableOp", "SaveV2")}


CHECKS = (towers_on_the_cpu, gradients_that_go_nowhere, variables_of_some_towers)
