"""Train ops: the nodes that a program runs to take a step, and the updates of variables that each of them runs."""

from __future__ import annotations

import collections
import functools
from collections.abc import Collection, Mapping, Sequence, Set

from legacy.saved.graph import op_types
from legacy.saved.graph.assignments import written_variables
from legacy.saved.graph.trained import gradient_assignments
from workloads.lifted.graph import Graph
from workloads.lifted.tensors.gradient_names import is_gradient_op
from workloads.support.errors import InputError
from workloads.support.wording import counted, listed

#: Of train ops, so many are named in a message.
MOST_NAMED = 8


def find_train_ops(graph: Graph, trainable: Collection[str] = ()) -> dict[str, set[str]]:
    """Returns the nodes that a program may have run to train: those that run updates and that no other node uses.

    Args:
      graph: a whole graph.
      trainable: names of the trainable variables, as far as they are known.

    Returns:
      {node: update ops that it runs}, those with the most updates first, then by name.
    """
    return ends_that_run(graph, training_updates(graph, trainable))


def run_by_others(graph: Graph, members: Collection[str], trainable: Collection[str] = ()) -> set[str]:
    """Returns what other train ops run: those that share no update with a step, and train in a run of their own.

    Args:
      graph: a whole graph.
      members: nodes that the step runs.
      trainable: names of the trainable variables, as far as they are known.

    Returns:
      Names of nodes.
    """
    runs = find_train_ops(graph, trainable)
    others = [name for name, updates in runs.items() if updates.isdisjoint(members)]
    return graph.ancestors(others) if others else set()


def named_train_ops(graph: Graph, trainable: Collection[str] = ()) -> dict[str, set[str]]:
    """Returns those of `find_train_ops` that a page names: groups and updates, and others that run what no group runs.

    What only waits for updates, such as reads of the new values and the gradients of a second optimizer, is left out.

    Args:
      graph: a whole graph.
      trainable: names of the trainable variables, as far as they are known.

    Returns:
      {node: update ops that it runs}, in the order of `find_train_ops`.
    """
    runs = find_train_ops(graph, trainable)
    written = written_variables(graph)
    own = {
        name for name in runs if graph.type(name) == "NoOp" or name in written or op_types.is_apply(graph.type(name))
    }
    kept = {name for name, updates in runs.items() if name in own or not any(updates <= runs[other] for other in own)}
    return collections.OrderedDict((name, updates) for name, updates in runs.items() if name in kept)


def training_updates(graph: Graph, trainable: Collection[str] = ()) -> list[str]:
    """Returns the ops that train: those of optimizers, and assignments of gradients that were written by hand.

    Args:
      graph: a whole graph.
      trainable: names of the trainable variables, as far as they are known.

    Returns:
      Names of nodes.
    """
    updates = graph.of_kind(op_types.is_apply)
    by_hand = sorted(gradient_assignments(graph, set(trainable)))
    return updates + [name for name in by_hand if op_types.is_sparse(graph.type(name))] if updates else by_hand


def ends_that_run(graph: Graph, wanted: Sequence[str]) -> dict[str, set[str]]:
    """Returns the nodes that no other node uses and that run some of the nodes `wanted`: what a program fetches.

    Args:
      graph: a whole graph.
      wanted: nodes.

    Returns:
      {node: those that it runs}, the one that runs most first, then by name; none that touches files or the like.
    """
    own = {name: 1 << i for i, name in enumerate(wanted)}
    reached = graph.flow(graph.order(graph.nodes), own)
    names_of = functools.lru_cache(maxsize=None)(lambda mask: frozenset(name for name in own if mask & own[name]))
    runs: dict[str, set[str]] = {}
    for end in graph.nodes:
        unused = not graph.users(end) and not graph.after(end) and not op_types.is_unsafe(graph.type(end))
        if unused and (reached[end] or end in own):
            runs[end] = set(names_of(reached[end] | own.get(end, 0)))
    return collections.OrderedDict(sorted(runs.items(), key=lambda item: (-len(item[1]), item[0])))


class TrainOpError(InputError):
    """Raised where the train ops are not those of a training step, and others can be named by --train_op.

    Attributes:
      likely: train ops that probably are, as --train_op takes them; empty if the graph suggests none.
    """

    likely: Sequence[str] = ()

    def __init__(self, message: str, likely: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.likely = likely


def choose_train_ops(graph: Graph, requested: Sequence[str], trainable: Collection[str] = ()) -> list[str]:
    """Returns the train ops of a program: those requested, or the one that runs every update.

    Args:
      graph: a whole graph.
      requested: names of nodes or of their outputs, in the order in which they are run, and joined by "+" those that
        are fetched in one run; or empty.
      trainable: names of the trainable variables, as far as they are known.

    Returns:
      Names of nodes, in the order in which steps run them; those of one run joined by "+".

    Raises:
      TrainOpError: there is no train op; there are several and none was requested; or a name is not in the graph.
    """
    if requested:
        for name in [name for text in requested for name in text.split("+")]:
            if name.partition(":")[0] not in graph.nodes:
                offer = _offer(graph, trainable)
                raise TrainOpError(f"--train_op: got {name!r}, no such operation in the graph; {offer}")
        return ["+".join(name.partition(":")[0] for name in text.split("+")) for text in requested]
    runs = find_train_ops(graph, trainable)
    if not runs:
        raise TrainOpError(
            "graph file: no update op (Apply*, ResourceApply*, SparseApply*) in it, so nothing trains; expected a "
            "training graph, not one for inference (or name what to run with --train_op)"
        )
    every = set().union(*runs.values())
    complete = [name for name, updates in runs.items() if updates == every]
    if complete:  # the one that runs most besides: a group op rather than the last update itself
        return [max(complete, key=lambda name: (len(graph.ancestors([name])), name))]
    likely = _that_take_turns(graph, without_parts(graph, runs))
    example = f" such as --train_op={','.join(likely)}" if likely else ""
    if len(likely) > MOST_NAMED:
        example = f" ({len(likely)} of them share no update, and may take turns)"
    raise TrainOpError(
        f"--train_op: the graph has several train ops; name one, or several to be run in turn{example}; "
        + _offer(graph, trainable),
        likely,
    )


def without_parts(graph: Graph, runs: Mapping[str, Set[str]]) -> dict[str, Set[str]]:
    """Returns train ops without those of one tower each, whose variables another one trains by several towers' losses.

    A program may call `minimize` in each tower besides, to make the optimizer's slots, and never run what it returns.

    Args:
      graph: a whole graph.
      runs: {train op: updates that it runs}.
    """
    written = written_variables(graph)
    uses = {name: _uses_of_trained(graph, updates, written) for name, updates in runs.items()}

    def is_part(name: str, other: str) -> bool:
        own, more = uses[name], uses[other]
        return bool(own) and all(more.get(variable, 0) >= 2 * count > 0 for variable, count in own.items())

    return {name: own for name, own in runs.items() if not any(is_part(name, other) for other in runs)}


def _uses_of_trained(graph: Graph, updates: Collection[str], written: Mapping[str, str]) -> dict[str, int]:
    """{variable that some updates train: number of forward ops behind them that take its value}."""
    before = graph.ancestors(updates, controls=False)
    found = {}
    for variable in {written[name] for name in updates if name in written}:
        takers, todo = set(), [variable]
        while todo:
            users = {use.node for use in graph.users(todo.pop())} & before
            reads = {name for name in users if graph.type(name) in op_types.READS}
            takers |= {name for name in users - reads if name not in written and not is_gradient_op(name)}
            todo += reads
        found[variable] = len(takers)
    return found


def _that_take_turns(graph: Graph, runs: Mapping[str, Collection[str]]) -> list[str]:
    """Returns train ops that share no update and together run all, in the graph's order; empty if there are none such.

    Args:
      graph: a whole graph.
      runs: {train op: updates that it runs}, those with the most updates first.
    """
    chosen: list[str] = []
    updates: set[str] = set()
    for name, own in runs.items():
        if not updates.intersection(own):
            chosen.append(name)
            updates.update(own)
    if updates != set().union(*runs.values()):
        return []
    return [name for name in graph.nodes if name in chosen]


def _offer(graph: Graph, trainable: Collection[str]) -> str:
    """Returns the end of an error message that lists the first train ops, and says how many more there are."""
    runs = named_train_ops(graph, trainable)
    texts = [f"{name} ({counted(len(updates), 'update')})" for name, updates in runs.items()]
    return "allowed, for instance: " + (listed(texts, MOST_NAMED) or "none found")
