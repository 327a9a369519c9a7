"""Gradients of some runs that another run applies: added up in variables, or put into a queue."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence

from legacy.saved.graph import op_types, sync_replicas
from legacy.saved.graph.assignments import ASSIGNMENTS, variable_of, written_variables
from legacy.saved.runs.train_ops import TrainOpError, ends_that_run
from workloads.lifted.graph import SWITCHES, Graph
from workloads.lifted.tensors.gradient_names import MOST_GRAPHS, gradient_nodes
from workloads.support.errors import InputError
from workloads.support.wording import FEW, listed

#: Endings of those that add to it.
ADDITIONS = ("Add", "AddVariableOp", "NdAdd")
#: Op types of staging areas, which have a name and no handle.
STAGES = ("Stage", "Unstage", "StagePeek", "MapStage", "OrderedMapStage", "MapUnstage", "OrderedMapUnstage")
#: Beginnings of the op types that take from a queue, a staging area or an accumulator.
TAKERS = ("QueueDequeue", "Unstage", "StagePeek", "MapUnstage", "OrderedMapUnstage", *sync_replicas.TAKES)


def accumulating_writes(
    graph: Graph, updates: Collection[str], trainable: Collection[str] = ()
) -> dict[str, list[str]]:
    """Returns the variables by way of which gradients reach update ops, with the assignments that bring them there.

    Args:
      graph: a whole graph, or the part that a step runs.
      updates: update ops.
      trainable: names of the trainable variables, as far as they are known; gradients are not accumulated in these.

    Returns:
      {variable: assignments to it of what depends on gradients}; where an update takes gradients directly, too, only
      those that add, and those in a branch of a `cond`, by which the first run of a period sets what later ones add to.
    """
    dependent, gradients = dependent_on_gradients(graph), gradient_nodes(graph)
    own = {variable_of(graph, name) for name in updates} | _taken_whole(graph, updates)
    read = graph.ancestors(set(updates) - dependent, controls=False) - own
    beside = graph.ancestors(set(updates) & dependent, controls=False) - own
    writes: dict[str, list[str]] = {}
    for name in graph.nodes:
        if name in dependent and graph.type(name).startswith(ASSIGNMENTS):
            variable = variable_of(graph, name)
            adds = graph.type(name).endswith(ADDITIONS) or sets_in_branch(graph, name)
            is_taken = variable in read or adds and variable in beside
            if variable not in (None, *trainable) and is_taken and _brings(graph, name, gradients):
                writes.setdefault(str(variable), []).append(name)
    return writes


def sets_in_branch(graph: Graph, assignment: str) -> bool:
    """Returns whether an assignment begins a sum: it sets a variable anew in the runs that take a branch of a `cond`.

    A moment of an optimizer, which a branch changes where all gradients are finite, is computed from its own value.
    """
    name = graph.inputs(assignment)[0].node
    while graph.type(name) in op_types.HANDLE_PASSES and graph.type(name) not in SWITCHES:
        name = graph.inputs(name)[0].node
    if graph.type(name) not in SWITCHES:
        return False
    value = graph.ancestors([tensor.node for tensor in graph.inputs(assignment)[1:]], controls=False)
    return graph.type(assignment) in op_types.SETS and variable_of(graph, assignment) not in value


def _taken_whole(graph: Graph, updates: Collection[str]) -> set[str]:
    """The variables that optimizers' ops take as such, and not their values: weights and slots.

    A slot may get rows by another run, as of a `minimize` by the same optimizer, whose gradients of a table are sparse.
    """
    optimizers = [name for name in updates if op_types.is_apply(graph.type(name))]
    taken = {tensor.node for name in optimizers for tensor in graph.inputs(name)}
    return {name for name in taken if graph.type(name) in op_types.VARIABLES}


def _brings(graph: Graph, assignment: str, gradients: Collection[str]) -> bool:
    """Returns whether the value of an assignment is computed from gradients.

    An assignment in a branch, such as that of a step counter, is none by its predicate, that all gradients are finite.
    """
    todo = [before.node for before in graph.inputs(assignment)[1:]]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in gradients:
            return True
        if name not in seen:
            seen.add(name)
            before = graph.inputs(name)
            todo += [one.node for one in (before[:1] if graph.type(name) in SWITCHES else before)]
    return False


def accumulators(graph: Graph, updates: Collection[str], trainable: Collection[str] = ()) -> dict[str, list[str]]:
    """Returns the variables that keep gradients between runs, with the assignments that bring gradients there.

    What an update is computed from is no such assignment, but that of a slot: it hands its result on in the same run.
    It is one if it adds to a variable that is set back to numbers, as where a `cond` applies the sum in every n-th run,
    or begins a sum in a branch.

    Args:
      graph: a whole graph, or the part that a step runs.
      updates: update ops.
      trainable: names of the trainable variables.

    Returns:
      {variable: names of assignments}.
    """
    handed_on = graph.ancestors(updates, controls=False)
    reads = [name for name in handed_on if graph.type(name) == "ReadVariableOp"]
    handed_on |= {name for read in reads for name in graph.controls(read)}  # an assignment of a handle has no output
    writes = accumulating_writes(graph, updates, trainable)
    sums = _set_back(graph, sums_of_gradients(graph, writes))
    kept = {
        variable: [n for n in names if variable in sums or n not in handed_on or sets_in_branch(graph, n)]
        for variable, names in writes.items()
    }
    return {variable: names for variable, names in kept.items() if names}


def _set_back(graph: Graph, names: Collection[str]) -> set[str]:
    """Returns those of some variables that an assignment besides their initializer sets to numbers, such as zeros.

    What is computed from variables is none, such as a moment that an optimizer of rows decays before it adds to it.
    """
    sizes = set(graph.of_types(*op_types.SHAPE_OPS))
    found = set()
    for name in graph.nodes:
        variable = variable_of(graph, name) if graph.type(name) in op_types.SETS else None
        if variable in names and name != f"{variable}/Assign":
            before = graph.ancestors([graph.inputs(name)[1].node], stop=sizes, controls=False)
            computed = {graph.type(node) for node in before - sizes}
            if not any(kind in op_types.VARIABLES or "Restore" in kind or kind == "Placeholder" for kind in computed):
                found.add(str(variable))
    return found


def sums_of_gradients(graph: Graph, found: Mapping[str, Sequence[str]]) -> set[str]:
    """Returns the accumulators to which every assignment adds; an optimizer's moment is assigned anew.

    Args:
      graph: the graph.
      found: see `accumulators`.

    Returns:
      Names of variables.
    """
    return {name for name, writes in found.items() if all(graph.type(w).endswith(ADDITIONS) for w in writes)}


@functools.lru_cache(maxsize=MOST_GRAPHS)
def dependent_on_gradients(graph: Graph) -> frozenset[str]:
    """Returns the nodes of gradient graphs, and all that is computed from them."""
    return frozenset(graph.descendants(gradient_nodes(graph), controls=False))


def require_accumulation(graph: Graph, targets: Sequence[str], trainable: Collection[str] = ()) -> None:
    """Checks that the train ops run what accumulates the gradients that they apply, or a part of these.

    Runs that add up the gradients of some weights are those of a period, also where none adds up those of others: a
    program may lack these, which is a hazard.

    Args:
      graph: the whole graph.
      targets: train ops, in the order in which steps run them.
      trainable: names of the trainable variables, as far as they are known.

    Raises:
      TrainOpError: they do not: gradients would not reach the weights. The message names the runs of a period.
    """
    members = graph.ancestors(targets)
    updates = {name for name in members if op_types.is_apply(graph.type(name))}
    writes = accumulating_writes(graph, updates, trainable)
    missing = {variable: names for variable, names in writes.items() if not members & set(names)}
    if len(missing) < len(writes) or not writes:
        return
    adding = _runs(graph, [name for names in missing.values() for name in names], updates)
    ran = graph.ancestors(adding.split("+") if adding else [])
    summed = {variable for name, variable in written_variables(graph).items() if name in ran}
    weights = {variable_of(graph, name) or "" for name in updates}.union(trainable) - summed  # as a sum of losses
    has_own = bool(updates & dependent_on_gradients(graph))  # its own batch is the last of a period
    batches = [adding] if has_own else [adding, adding]
    period = [*batches, *targets, *_resets(graph, missing, members, weights)]
    listed = ", ".join(list(missing)[:3]) + (", ..." if len(missing) > 3 else "")
    raise TrainOpError(
        f"--train_op: {', '.join(targets)} applies gradients that other runs add up in {listed}; name the runs of a "
        f"period in their order, as often as the program did, such as --train_op={','.join(period)}",
        period,
    )


def _resets(
    graph: Graph, accumulators: Collection[str], members: Collection[str], trainable: Collection[str]
) -> list[str]:
    """The run that sets accumulators back; empty if the train ops do, or if none is found."""
    assigns = {name: variable_of(graph, name) for name in graph.nodes if graph.type(name).startswith("Assign")}
    gradients = dependent_on_gradients(graph)
    own = [name for name, variable in assigns.items() if variable in accumulators and name not in gradients]
    own = [name for name in own if not any("Restore" in graph.type(tensor.node) for tensor in graph.inputs(name))]
    if any(name in members for name in own):
        return []
    resets = [name for name in own if name != f"{assigns[name]}/Assign"] or own  # or their initializers
    changed = {variable for name, variable in assigns.items() if name in members} | set(trainable)
    found = _runs(graph, resets, {name for name, variable in assigns.items() if variable in changed})
    return [found] if found else []


def _runs(graph: Graph, wanted: Sequence[str], unwanted: Collection[str]) -> str:
    """The ops to fetch, joined by "+", that run some nodes and none of others; one that runs most comes first."""
    left, names = dict.fromkeys(wanted), []
    spoiled = graph.descendants(unwanted)
    for end, nodes in ends_that_run(graph, wanted).items():
        if end not in spoiled and nodes & set(left):
            names.append(end)
            left = {name: None for name in left if name not in nodes}
    return "+".join(names)


def queued_gradients(graph: Graph, updates: Collection[str]) -> dict[str, list[str]]:
    """Finds queues that hold the gradients of update ops.

    An update whose own run differentiates a loss takes at most its data from a queue.

    Args:
      graph: the whole graph.
      updates: update ops.

    Returns:
      {queue or staging area: ops that put gradients into it}.
    """
    dependent = dependent_on_gradients(graph)
    takers = graph.of_type_prefix(TAKERS)
    givers: dict[str, list[str]] = {}
    for name in graph.nodes:
        if name in dependent and (op_types.is_feeder(graph.type(name)) or graph.type(name) in sync_replicas.APPLIES):
            givers.setdefault(_place(graph, name), []).append(name)
    taken = {name: _place(graph, name) for name in takers if givers and _place(graph, name) in givers}
    found: dict[str, list[str]] = {}
    for update in updates if taken else ():
        before = graph.ancestors([update], controls=False)
        if not before & dependent - {update}:
            found.update({place: givers[place] for name, place in taken.items() if name in before})
    return found


def require_own_gradients(graph: Graph, targets: Iterable[str]) -> None:
    """Checks that the train ops compute the gradients that they apply.

    Args:
      graph: the whole graph.
      targets: train ops.

    Raises:
      InputError: gradients come out of a queue; the message names it.
    """
    members = graph.ancestors(targets)
    found = queued_gradients(graph, [name for name in members if op_types.is_apply(graph.type(name))])
    if found:
        raise InputError(
            f"graph file: {', '.join(targets)} applies gradients that come out of {listed(list(found), FEW)}, "
            "into which runs of their own put them: no lift has those runs"
        )


def _place(graph: Graph, name: str) -> str:
    """The queue that an op takes from or puts into; of a staging area, its name."""
    attributes = graph.nodes[name].attr
    if graph.type(name) in STAGES:
        return attributes["shared_name"].s.decode() or "a staging area"
    place = graph.inputs(name)[0].node
    while graph.type(place) in op_types.HANDLE_PASSES:
        place = graph.inputs(place)[0].node
    return place
