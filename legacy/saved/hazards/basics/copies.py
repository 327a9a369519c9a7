"""Copies of one model: the variables that each tower has for itself, and the towers that read a variable."""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping

from legacy.saved.facts.basics.whole_graph import WholeGraph
from legacy.saved.graph import op_types
from legacy.saved.hazards.basics.variable_reads import READS, variable_read
from workloads.lifted.tensors.gradient_names import is_gradient_op

#: Ops that use a variable, but do not compute with it.
BOOKKEEPING = (*op_types.SETS, "IsVariableInitialized", "SaveV2", "VarIsInitializedOp")
#: Ops that make one number of a weight.
_TO_NUMBERS = ("L2Loss", "Sum", "Mean", "Max", "EuclideanNorm")


def copies_of_one_model(whole: WholeGraph) -> dict[str, int]:
    """Returns {variable: its tower} where each tower trains a copy of the model, with all towers' gradients."""
    some = variables_of_some_towers(whole) if whole.count > 1 else {}
    if not some or not are_copies(whole, some) or not are_trained_by_all_towers(whole, some):
        return {}
    return {name: next(iter(towers)) for name, towers in some.items()}


def masters_of_copies(whole: WholeGraph) -> dict[str, str]:
    """Returns {variable: the variable whose value an assignment, besides its initializer, sets it to}."""
    found = {}
    for name, variable in whole.writes.items():
        if whole.graph.type(name) in op_types.SETS:
            master = variable_read(whole.graph, whole.graph.inputs(name)[1].node)
            if master and master != variable:
                found[variable] = master
    return found


def kept_by_another_copy(whole: WholeGraph, variables: Collection[str], changed: Collection[str]) -> set[str]:
    """Finds variables that a step changes in one tower's copy of the model, and leaves in another's.

    Args:
      whole: the graph with its towers.
      variables: variables that the step leaves, such as statistics.
      changed: those that it changes; one of them has the name of the variable but for its tower's scope.

    Returns:
      Those of `variables`.
    """
    if not copies_of_one_model(whole):
        return set()
    known = {*changed, *(name.partition("/")[2] for name in changed)} - {""}
    return {name for name in variables if name.partition("/")[2] in known}


def variables_of_some_towers(whole: WholeGraph, in_penalties: bool = True) -> dict[str, set[int]]:
    """{trainable variable: the towers whose forward passes read it}, for those that not all towers read.

    Variables that no update depends on, such as an averaged copy of a network for evaluation, are left out.

    Args:
      whole: the graph with its towers.
      in_penalties: whether a penalty on a weight reads it: a later tower's, over all weights so far, has those of the
        towers before it.
    """
    readers = {}
    for variable in sorted(whole.trainable & set(whole.graph.nodes)):
        forward = {name for name in readers_of_variable(whole, variable) if not is_gradient_op(name)}
        if forward & whole.reach:
            readers[variable] = whole.towers_of(n for n in forward if in_penalties or _meets_data(whole, n))
    return {name: towers for name, towers in readers.items() if towers and len(towers) < whole.count}


def _meets_data(whole: WholeGraph, reader: str) -> bool:
    """Whether what reads a weight computes with data before it makes one number of it, as a penalty does first."""
    todo, seen = [reader], {reader}
    while todo:
        name = todo.pop()
        if name in whole.data:
            return True
        users = {use.node for use in whole.graph.users(name)} - seen
        if whole.graph.type(name) not in _TO_NUMBERS:
            seen |= users
            todo += [user for user in users if not is_gradient_op(user)]
    return False


def are_copies(whole: WholeGraph, owners: Mapping[str, Collection[int]]) -> bool:
    """Whether some variables belong to one tower each, and equally many to each tower."""
    alone = collections.Counter(next(iter(towers)) for towers in owners.values() if len(towers) == 1)
    return len(alone) == whole.count and len(set(alone.values())) == 1 and len(owners) == sum(alone.values())


def are_trained_by_all_towers(whole: WholeGraph, variables: Collection[str]) -> bool:
    """Whether each of some variables is updated, with the gradients of every tower."""
    labels = {name: 1 << tower for name, tower in whole.labels.items() if is_gradient_op(name)}
    arriving = whole.graph.flow(whole.graph.order(whole.reach), labels, controls=False)
    updates = [apply for apply in whole.applies if whole.variable_of(apply) in variables]
    complete = all(arriving.get(apply, 0) == (1 << whole.count) - 1 for apply in updates)
    return complete and {whole.variable_of(apply) for apply in updates} == set(variables)


def readers_of_variable(whole: WholeGraph, variable: str) -> set[str]:
    """Nodes that compute with a variable, found through what only hands its value on."""
    todo = [variable]
    seen: set[str] = set()
    while todo:
        users = {user for user, _, _ in whole.graph.users(todo.pop())} - seen
        seen |= users
        todo += [user for user in users if whole.graph.type(user) in READS]
    return {name for name in seen if whole.graph.type(name) not in BOOKKEEPING}
