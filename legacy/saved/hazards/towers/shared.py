"""Hazards of what towers share: gradients that reach no update op, variables that not all towers read or update."""

from __future__ import annotations

import collections
from collections.abc import Collection, Iterable, Iterator, Mapping

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.graph.differentiation import differentiated
from legacy.saved.graph.sync_replicas import accumulators, numbers_of_gradients
from legacy.saved.hazards.basics.copies import (
    are_copies,
    are_trained_by_all_towers,
    masters_of_copies,
    readers_of_variable,
    variables_of_some_towers,
)
from legacy.saved.hazards.basics.hazard import Hazard, listed_towers
from legacy.saved.hazards.towers.lost_examples import examples_text
from legacy.saved.hazards.towers.missing_gradients import divided_text, stopped_text
from legacy.saved.runs import train_ops
from legacy.saved.runs.accumulation import queued_gradients
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.wording import counted, listed, plural

#: Most variables that are listed: a program that leaves out one often leaves out many.
MOST_VARIABLES = 8


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
    divided = divided_text(whole, whole.applies) if lost else ""
    besides = f"; the gradients that are applied are{divided.lstrip(',')}" if divided else ""
    for tower in lost:
        yield Hazard(
            "GRADIENTS_DROPPED",
            backward[tower][-1],
            f"none of the {len(backward[tower])} ops of tower {tower}'s backward pass reaches an update op: "
            f"{examples_text(whole, backward, tower, lost)}{besides}",
            "an all-reduce over all replicas does what was meant; for parity with the old program, document the change",
        )
    yield from _updates_of_some_towers(whole, set(whole.towers()) - set(lost))


def _updates_of_some_towers(whole: WholeGraph, contributing: set[int]) -> Iterator[Hazard]:
    """Finds variables that only some of the contributing towers' gradients reach."""
    updates: dict[tuple[int, ...], list[str]] = collections.defaultdict(list)
    labels = {name: 1 << tower for name, tower in whole.labels.items() if is_gradient_op(name)}
    arriving = whole.graph.flow(whole.graph.order(whole.reach), labels, controls=False)
    run = [apply for apply in whole.applies if apply in whole.members] or whole.applies  # not other train ops' updates
    reached = {a: {tower for tower in whole.towers() if arriving.get(a, 0) >> tower & 1} for a in run}
    # Beside the update by all towers, a program may have one tower's own: `minimize` of one tower's loss. Where it runs
    # both, `updated_twice` names it.
    complete = {whole.variable_of(a) for a in run if a in whole.members and reached[a] == contributing}
    using = _towers_using(whole, contributing, [a for a in run if 0 < len(reached[a]) < len(contributing)])
    for apply in run:
        variable = whole.variable_of(apply)
        if variable in complete or using.get(apply, contributing) <= reached[apply]:
            continue
        if reached[apply] and reached[apply] != contributing and (not whole.trainable or variable in whole.trainable):
            updates[tuple(sorted(reached[apply]))].append(apply)
    alone = len(updates) > 1 and all(len(towers) == 1 for towers in updates)  # each tower trains variables of its own
    sets = [{whole.variable_of(apply) for apply in applies} for applies in updates.values()]
    if alone and len(sets) == whole.count and all(names == sets[0] for names in sets):
        named = listed(sorted(str(name) for name in sets[0]), 3)
        yield Hazard(
            "TOWERS_UPDATE_ALONE",
            next(iter(updates.values()))[0],
            f"each of the {whole.count} towers updates {counted(len(sets[0]), 'variable')} ({named}) by itself: "
            f"{whole.count} updates a step, each from one tower's gradient{_own_slots_text(whole, updates.values())}"
            f"{_overwritten_text(whole, updates.values())}",
            "one update from the reduced gradient; for what the old program did, parameter servers without a barrier",
        )
        return
    for towers, applies in updates.items():
        names = [name for name in map(whole.variable_of, applies) if name is not None]
        named = listed(names, 3)
        yield Hazard(
            "TOWERS_UPDATE_ALONE" if alone else "GRADIENTS_DROPPED",
            applies[0],
            f"{counted(len(names), 'variable')} ({named}) {plural(len(names), 'gets', 'get')} the gradients of "
            f"{listed_towers(towers)} only"
            f"{divided_text(whole, applies)}{stopped_text(whole, names, contributing - set(towers))}",
            "reduce every replica's gradient of every variable",
        )


def _towers_using(whole: WholeGraph, contributing: set[int], applies: Collection[str]) -> dict[str, set[int]]:
    """Returns {update op: towers that compute what its run minimizes from its variable}, as far as that is known.

    A tower whose loss depends on no value of a variable has no gradient of it to be dropped: a gradient penalty does
    not depend on the bias of a critic's last layer.

    Args:
      whole: the graph.
      contributing: towers whose gradients reach updates; of a run that minimizes fewer towers' losses, nothing is said.
      applies: update ops to look at.
    """
    found: dict[str, set[int]] = {}
    runs = train_ops.find_train_ops(whole.graph, whole.trainable).values() if applies else ()
    for run in dict.fromkeys(frozenset(run) for run in runs):
        own = [apply for apply in applies if apply in run]
        targets = differentiated(whole.graph, whole.graph.ancestors(run, controls=False)) if own else []
        if whole.towers_of(targets) != contributing:
            continue  # not known
        minimized = whole.graph.ancestors(targets, controls=False)
        bits: dict[str, int] = collections.defaultdict(int)
        for number, apply in enumerate(own):
            bits[whole.variable_of(apply) or ""] |= 1 << number
        arriving = whole.graph.flow(whole.graph.order(minimized), bits, controls=False)
        for number, apply in enumerate(own):
            using = {node for node, mask in arriving.items() if mask >> number & 1}
            found.setdefault(apply, set()).update(whole.towers_of(using))
    return found


def _own_slots_text(whole: WholeGraph, updates: Iterable[Collection[str]]) -> str:
    """The rest of a sentence on towers that update the same variables, where each has an optimizer of its own."""
    slots = [
        {before.node for apply in applies for before in whole.graph.inputs(apply)[1:]} & _variables(whole)
        for applies in updates
    ]
    own = all(slots) and len(set().union(*slots)) == sum(map(len, slots))
    return f", and with {counted(len(slots[0]), 'slot')} of its own" if own else ""


def _overwritten_text(whole: WholeGraph, updates: Iterable[Collection[str]]) -> str:
    """The rest of a sentence on towers that each assign a weight the value it had, less a change of their own."""
    applies = {apply for each in updates for apply in each}
    if not all(whole.graph.type(apply) in op_types.SETS for apply in applies):
        return ""
    ordered = any(applies & (whole.graph.ancestors([apply]) - {apply}) for apply in applies)
    return "" if ordered else "; each assigns the whole value that it read, so that the last one may undo the others"


def _variables(whole: WholeGraph) -> set[str]:
    return set(whole.graph.of_types(*op_types.VARIABLES))


def gradients_of_workers(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds accumulators in which a `SyncReplicasOptimizer` collects the gradients of several workers."""
    found = accumulators(whole.graph)
    if found:
        numbers = {whole.value(name) for name in numbers_of_gradients(whole.graph)}
        each = f", of {counted(int(numbers.pop() or 1), 'gradient')} each," if len(numbers) == 1 else ""
        yield Hazard(
            "GRADIENTS_OF_WORKERS",
            found[0],
            f"workers put gradients into {counted(len(found), 'accumulator')} (SyncReplicasOptimizer), whose means"
            f"{each} a thread of the chief applies, or drops as too old: page and lift take the step of one worker",
            "workers are replicas, whose gradients are all-reduced in each step; with as many towers as before in all",
        )


def gradients_in_queues(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds queues that update ops take their gradients from."""
    for queue in queued_gradients(whole.graph, whole.applies):
        yield Hazard(
            "GRADIENTS_QUEUED",
            queue,
            f"gradients wait in {queue}: some are computed from weights that updates have changed since",
            "add up the gradients of several batches within a step, and apply their mean",
        )


def unshared_variables(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds variables that not all towers read, or that each tower has for itself."""
    if whole.count < 2:
        return
    some = variables_of_some_towers(whole)
    if not are_copies(whole, some):
        own = variables_of_some_towers(whole, in_penalties=False)
        some = own if are_copies(whole, own) else some
    if are_copies(whole, some):
        if are_trained_by_all_towers(whole, some):
            return  # copies of one model, each updated with all towers' gradients
        trained = {whole.variable_of(name) for name in whole.applies}
        masters = masters_of_copies(whole)
        if all(masters.get(name) in trained - some.keys() for name in some):
            return  # copies of what the update trains, which the step sets, or another run: COPIES_NOT_SET
        apart = ": the towers train separate models"
        if whole.trainable - some.keys():  # the towers share the others, which they train together
            apart = ", which it trains alone; they share all others"
        if not some.keys() & trained:
            apart = ", which no update rule trains"  # copies of weights that other ops set
        consequence = _stale_copies_text(whole, some) or _synchronized_text(whole, some) or apart
        yield Hazard(
            "VARIABLES_NOT_SHARED",
            next(iter(some)),
            f"every tower has {counted(len(some) // whole.count, 'variable')} of its own{consequence}",
            "one set of mirrored variables made in strategy.scope(); decide which tower's values to keep",
        )
        return
    readers_of: dict[tuple[int, ...], list[str]] = collections.defaultdict(list)
    for name, towers in some.items():
        readers_of[tuple(sorted(towers))].append(name)
    for read_by, names in readers_of.items():
        several = "" if len(names) == 1 else f"{counted(len(names), 'variable')} ({listed(names, MOST_VARIABLES)}) are "
        yield Hazard(
            "VARIABLE_OF_SOME_TOWERS",
            names[0],
            f"{several}read by {listed_towers(read_by)} of {whole.count} only",
            "every replica runs the same function: make all of them use it, or leave it out",
        )


def unshared_values(whole: WholeGraph) -> Iterator[Hazard]:
    """Finds scalar variables that the step does not change, and of which each tower reads others.

    Each tower makes a step counter of its own, and other runs count in one of them.
    """
    if whole.count < 2:
        return
    changed = {variable for name, variable in whole.writes.items() if name in whole.members}
    read: dict[int, list[str]] = collections.defaultdict(list)
    for name in sorted(whole.members - whole.trainable - changed):
        if whole.graph.type(name) in op_types.VARIABLES and whole.is_scalar(name):
            readers = {
                user for user in readers_of_variable(whole, name) if user in whole.members and not is_gradient_op(user)
            }
            towers = whole.towers_of(readers)
            if len(towers) == 1:
                read[towers.pop()].append(name)
    if len(read) == whole.count and len(set(map(len, read.values()))) == 1:
        names = [name for tower in whole.towers() for name in read[tower]]
        yield Hazard(
            "VALUES_NOT_SHARED",
            names[0],
            f"each tower reads {counted(len(read[0]), 'scalar variable')} of its own, which the step does not change "
            f"({listed(names, MOST_VARIABLES)}): where other runs change those of one tower alone, the towers compute "
            "different losses",
            "one variable for all replicas, which the training loop changes; for parity, keep each tower's value",
        )


def _synchronized_text(whole: WholeGraph, owners: Mapping[str, Collection[int]]) -> str:
    """The rest of a sentence on copies that a step trains apart, and that it or other runs set to all towers' mean."""
    setters: dict[str, str] = {}
    for name, variable in whole.writes.items():
        if variable in owners and name not in whole.applies:
            before = whole.graph.ancestors([whole.graph.inputs(name)[1].node], controls=False)
            if {tower for other in owners if other in before for tower in owners[other]} == set(whole.towers()):
                setters[variable] = name
    if set(setters) != set(owners):
        return ""
    who = "the step sets" if set(setters.values()) <= whole.members else "other runs set"
    by = setters[min(setters)]
    return f": each trains its own by its own gradients, and {who} all from all towers', as by {by}"


def _stale_copies_text(whole: WholeGraph, owners: Mapping[str, Collection[int]]) -> str:
    """The rest of a sentence on copies of one model of which the step trains some towers' alone.

    Args:
      whole: the graph.
      owners: {variable: the tower that reads it}.

    Returns:
      What the other towers' gradients are of, and who changes their copies; "" for anything else.
    """
    changed = {variable for name, variable in whole.writes.items() if name in whole.members}
    trained, idle = [name for name in owners if name in changed], [name for name in owners if name not in changed]
    trainers = {tower for name in trained for tower in owners[name]}
    if not idle or not 0 < len(trainers) < whole.count:
        return ""
    whose = "all towers' gradients" if are_trained_by_all_towers(whole, trained) else "fewer than all towers' gradients"
    others = {tower for name in idle for tower in owners[name]}
    setters = [name for name, variable in whole.writes.items() if variable in idle]
    ends = [name for name in whole.graph.descendants(setters) if whole.graph.type(name) == "NoOp"]
    runs = sorted(name for name in ends if not whole.graph.after(name) and not whole.graph.users(name)) or setters
    who = f"only other runs change, such as {runs[0]}" if runs else "nothing changes"
    return (
        f", and the step trains those of {listed_towers(trainers)} alone, with {whose}: "
        f"{listed_towers(others)} {plural(len(others), 'computes', 'compute')} gradients from copies that {who}"
    )
