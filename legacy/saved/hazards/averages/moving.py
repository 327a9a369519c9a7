"""Hazards of moving averages: trained besides, of exchanged shares, or that never move."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Collection, Iterator

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.conditions import exclude_each_other
from legacy.saved.hazards.averages.rows import follows_rows, kept_of_rows
from legacy.saved.hazards.basics.hazard import Hazard
from legacy.saved.hazards.basics.kept_shares import followed_variables, keeps_a_share, kept_share, most_kept
from legacy.saved.hazards.basics.variable_reads import variable_read, variables_behind
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import FEW, counted, listed

#: The largest share that an average keeps of itself and is taken for one whose shares are exchanged.
LITTLE = 0.3
#: The least share that is no rounding error.
TOLERANCE = 1e-6


def averages_that_are_trained(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds moving averages of weights that an optimizer trains besides, as of a teacher; one hazard for all."""
    trained = {whole.variable_of(apply) for apply in whole.applies if apply in whole.members}
    found: dict[str, tuple[str, str]] = {}
    for name, variable in whole.writes.items():
        if name in whole.members and variable in trained and name not in whole.applies:
            share = kept_share(whole, name).share
            others = set(followed_variables(whole, name)) & (trained - {variable})
            is_average = 0 < share < 1 or (not share and keeps_a_share(whole, name))
            if "Scatter" in whole.graph.type(name) and follows_rows(whole, name):
                found[variable] = (name, "rows of the examples' results")
            elif is_average and others and not _is_mean_of_copies(whole, name, others):
                found[variable] = (name, sorted(map(str, others))[0])
    for variable, (name, other) in found.items():
        yield Hazard(
            "AVERAGE_TRAINED",
            name,
            f"{counted(len(found), 'variable is a moving average', 'variables are moving averages')} of others, and an "
            f"optimizer trains {'it' if len(found) == 1 else 'them'} besides ({listed(list(found), FEW)}): "
            f"{variable} follows {other} by {name}, and gradients",
            "create them with trainable=False, and apply tf.stop_gradient to what they compute; for parity keep both",
        )
        return


def _is_mean_of_copies(whole: WholeGraph, name: str, others: Collection[str | None]) -> bool:
    """Whether an assignment's value is assigned to other variables of it, too, as the mean of towers' copies is."""
    graph = whole.graph
    value = graph.origin(graph.inputs(name)[1])
    same = [one for one in whole.writes if one != name and graph.type(one) == graph.type(name)]
    return any(whole.writes[one] in others and graph.origin(graph.inputs(one)[1]) == value for one in same)


def averages_that_keep_little(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds moving averages and statistics that keep little of themselves in each step; one hazard for all.

    A statistic of a decay of 0.01 is the last batch's; frameworks give the name momentum to either share. A target
    network, which follows trained weights, may do so in a run of its own.
    """
    little: dict[str, tuple[str, float]] = {}
    run = whole.members | whole.read
    trained = {whole.variable_of(apply) for apply in whole.applies if apply in whole.members}
    for name, variable in whole.writes.items():
        if name in whole.applies or whole.is_scalar(variable):
            continue
        kept = kept_share(whole, name)
        if name not in run and not {variable_read(whole.graph, node) for node in kept.weights} & trained - {variable}:
            continue
        share = kept.share if 0 < kept.share < 1 else most_kept(whole, name)
        if TOLERANCE < share <= LITTLE and not any(map(is_gradient_op, kept.weights)):
            little.setdefault(variable, (name, share))
    for name, share in little.values():
        yield Hazard(
            "AVERAGE_KEEPS_LITTLE",
            name,
            f"{counted(len(little), 'moving average keeps', 'moving averages keep')} {share:.4g} of themselves in each "
            f"step, and take {1 - share:.4g} of the new value ({listed(list(little), FEW)}): they hardly "
            "average; are decay and 1 - decay exchanged?",
            "in TensorFlow the decay or momentum is the share that is kept, in PyTorch the one that is new; for parity "
            "keep it",
        )
        return


def averages_that_never_move(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds moving averages that keep all of themselves in each step, as with a decay of 1; one hazard for all."""
    fixed: dict[str, str] = {}
    for name, variable in whole.writes.items():
        is_assigned = name in whole.members and "Assign" in whole.graph.type(name)
        if is_assigned and not whole.is_scalar(variable) and _keeps_all(whole, name, variable):
            fixed.setdefault(variable, name)
    for name in fixed.values():
        yield Hazard(
            "AVERAGE_NEVER_MOVES",
            name,
            f"{counted(len(fixed), 'moving average keeps', 'moving averages keep')} all of themselves in each step "
            f"({listed(list(fixed), FEW)}): the decay is 1, or they follow themselves, and they stay at their "
            "first values",
            "a decay below 1, such as 0.999; for parity keep it",
        )
        return


def _keeps_all(whole: WholeGraph, name: str, variable: str) -> bool:
    """Whether an assignment gives a variable all of its own value, and of others nothing."""
    kept = kept_share(whole, name)
    if not abs(kept.share - 1) < TOLERANCE:
        return False
    others = [weight for node, weight in kept.weights.items() if variable_read(whole.graph, node) not in ("", variable)]
    if others:
        return not any(others)
    is_sum = len(kept.weights) > 1 and _is_sum_without_constants(whole, whole.graph.inputs(name)[1].node)
    # Not a slow copy, which goes towards the weights in some of the steps.
    before = set().union(*(variables_behind(whole.graph, node) for node in kept.weights)) - {variable}
    return is_sum and name not in whole.data and all(map(whole.is_scalar, before))


def _is_sum_without_constants(whole: WholeGraph, name: str) -> bool:
    """Whether a node is a sum of terms of which none is a constant, which would move a variable."""
    is_sum = whole.graph.type(name) in op_types.ADDITIONS
    return is_sum and all(whole.value(tensor.node) is None for tensor in whole.graph.inputs(name))


def averages_that_move_away(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds v += c (v - x) of data x, also of rows of v, as of the centers of classes; one hazard for all."""
    for name, variable in whole.writes.items():
        if name not in whole.members or variable in whole.trainable or name in whole.applies:
            continue
        kept = kept_of_rows(whole, name) if "Scatter" in whole.graph.type(name) else kept_share(whole, name)
        grows = whole.graph.type(name) not in ("AssignSub", "ScatterSub")
        away = [n for n, weight in kept.weights.items() if n in whole.data and (weight < 0 if grows else weight > 0)]
        if kept.share > 1 + TOLERANCE and away:
            yield Hazard(
                "AVERAGE_MOVES_AWAY",
                name,
                f"{name} adds to {variable} a multiple of its difference from {away[-1]}: it moves away from what it "
                "should follow, and the faster, the farther it is",
                "v += c * (x - v); for parity keep it",
            )
            return


def averages_before_updates(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds moving averages of weights that a step demands to move before its update; one hazard for all.

    An average that the loss takes after it has moved, as that of an encoder of keys, can only move before.
    """
    graph = whole.graph
    updates = {whole.variable_of(apply): apply for apply in whole.applies if apply in whole.members}
    early: dict[str, tuple[str, str]] = {}
    for name, variable in whole.writes.items():
        if name not in whole.members or name in whole.data or variable in updates or whole.is_scalar(variable):
            continue  # what moves by data is a statistic
        kept = kept_share(whole, name)
        if not (0 < kept.share < 1 or most_kept(whole, name) < 1):
            continue
        read = graph.ancestors([graph.inputs(name)[1].node], controls=False) & set(updates)
        waiting = graph.descendants([name]) if len(read) == 1 else set()
        is_taken = any(variable_read(graph, node) == variable for node in waiting & whole.minimized)
        if len(read) == 1 and updates[min(read)] in waiting and not is_taken:
            early[variable] = (name, updates[min(read)])
    for name, update in early.values():
        yield Hazard(
            "AVERAGE_BEFORE_UPDATE",
            name,
            f"{counted(len(early), 'moving average takes', 'moving averages take')} weights as they were before the "
            f"step ({listed(list(early), FEW)}): {update} waits for {name}",
            "average behind the update, as under tf.control_dependencies([train_op]); for parity average before it",
        )
        return


def averages_moved_twice(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds moving averages of weights that one run moves by several ops, as where each tower does; one for all."""
    moves: dict[str, list[str]] = collections.defaultdict(list)
    shares: dict[str, float] = {}
    for name, variable in whole.writes.items():
        if name in whole.members and variable not in whole.trainable and not whole.is_scalar(variable):
            kept = kept_share(whole, name)
            followed = {variable_read(whole.graph, node) for node in kept.weights} & whole.trainable
            if 0 < kept.share < 1 and len(followed) == 1:
                moves[variable].append(name)
                shares[variable] = kept.share
    twice = {variable: names for variable, names in moves.items() if len(names) > 1}
    for variable, names in twice.items():
        if any(exclude_each_other(whole.graph, one, other) for one, other in itertools.combinations(names, 2)):
            continue
        yield Hazard(
            "AVERAGE_MOVED_TWICE",
            names[1],
            f"one run moves {counted(len(twice), 'average')} ({listed(list(twice), FEW)}) by {len(names)} ops "
            f"each, such as {variable} by {listed(names, FEW)}: it keeps {shares[variable]:.4g} to the power of "
            f"{len(names)}",
            "move the average once, behind the update; for parity, raise its decay to that power",
        )
        return


def averages_whose_count_stays(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds averages (a n + x) / (n + 1) whose count n nothing changes, so that they keep one share; one for all."""
    graph, found = whole.graph, {}
    changed = set(whole.writes.values())
    for name, variable in whole.writes.items():
        is_average = name in whole.members and variable not in whole.trainable and not whole.is_scalar(variable)
        if is_average and graph.type(name) in op_types.SETS:
            value = graph.inputs(name)[1].node
            count = _count_of_mean(whole, value) if graph.type(value) in op_types.QUOTIENTS else ""
            if count and count not in changed and variable in variables_behind(graph, value):
                found[variable] = (name, count)
    for name, count in found.values():
        yield Hazard(
            "AVERAGE_COUNT_STAYS",
            name,
            f"{counted(len(found), 'average')} ({listed(list(found), FEW)}) divide by {count} + 1, and no op "
            "raises that count: each step gives its value the weight of the first step",
            "raise the count behind the average; for parity keep it",
        )
        return


def _count_of_mean(whole: WholeGraph, quotient: str) -> str:
    """The scalar variable n of a quotient by n + 1; "" for any other."""
    total = whole.graph.origin(whole.graph.inputs(quotient)[1]).node
    inputs = (
        [tensor.node for tensor in whole.graph.inputs(total)] if whole.graph.type(total) in op_types.SUMS_OF_TWO else []
    )
    for number, one in zip(inputs, reversed(inputs)):
        variable = variable_read(whole.graph, number)
        if whole.value(one) == 1 and variable and whole.is_scalar(variable):
            return variable
    return ""
