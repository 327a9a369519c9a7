"""Runs of a program, as the recording beside its graph file has them: the train ops, and ops fetched beside them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from legacy.saved.folding.settings import fold_settings
from legacy.saved.graph.assignments import ASSIGNMENTS, variable_of, written_variables
from legacy.saved.graph.graph_file import SavedGraph
from legacy.saved.graph.trained import trained_variables
from legacy.saved.runs.accumulation import accumulating_writes
from legacy.saved.runs.beside import assigns_from_itself, never_run
from legacy.saved.runs.recording_folder import read_about, recording_beside
from legacy.saved.runs.train_ops import TrainOpError, choose_train_ops, training_updates
from workloads.lifted.graph import Graph
from workloads.support.errors import InputError
from workloads.support.wording import FEW


class Ran(NamedTuple):
    """The runs of a program that make up its training.

    Attributes:
      train_op: train ops in turn, those of one run joined by "+"; empty to find the one.
      beside: ops that each step ran beside them.
    """

    train_op: Sequence[str] = ()
    beside: Sequence[str] = ()

    @property
    def is_long(self) -> bool:
        """Whether a run is of more ops than are named."""
        return any(run.count("+") >= FEW for run in self.train_op)

    def flags(self) -> list[str]:
        """Returns the flags that name the runs.

        >>> Ran(["d", "g"], ["ema"]).flags()
        ['--train_op=d,g', '--with=ema']
        """
        flags = [f"--train_op={','.join(self.train_op)}"] if self.train_op else []
        return flags + ([f"--with={','.join(self.beside)}"] if self.beside else [])

    def describe(self) -> str:
        """Returns the runs in words.

        >>> Ran(["d", "g"], ["ema"]).describe()
        'd, g in turn, with ema'
        >>> Ran(["a+b+c+d+e"]).describe()
        'a+b+c and 2 more at once'
        """
        names = ", ".join(map(_shortened, self.train_op)) + (" in turn" if len(self.train_op) > 1 else "")
        return names + (f", with {', '.join(self.beside)}" if self.beside else "")


def _shortened(run: str) -> str:
    """The ops of a run, of many the first ones."""
    ops = run.split("+")
    more = len(ops) - FEW
    return run if more <= 0 else f"{'+'.join(ops[:FEW])} and {more} more at once"


def ran_in_recording(saved: SavedGraph, feed: Mapping[str, str] | None = None) -> Ran:
    """Returns what the recording beside a graph file ran, where that is not what the graph itself suggests.

    Args:
      saved: the graph, as read from its file.
      feed: {placeholder: text of its value} of settings that are the same in every step.

    Returns:
      The runs; empty without a recording of this graph, or if its few runs leave out variables that other train ops
      change, as where a program trains a critic alone at first. Further train ops of the same variables do not matter.
    """
    folder = recording_beside(saved.path)
    try:
        runs = read_about(folder, folder)["steps"] if folder else []
    except InputError:
        return Ran()
    if not runs or any(name not in saved.graph.nodes for run in runs for name in run):
        return Ran()
    graph, _ = fold_settings(saved.graph, feed or {})
    trainable = trained_variables(graph, saved.collections.get("trainable_variables", []))
    train_ops = _train_ops(graph, runs, trainable)
    members = graph.ancestors({name for names in train_ops for name in names})
    trained = {name: variable_of(graph, name) for name in training_updates(graph, trainable)}
    if not all(train_ops) or not {trained[name] for name in members & trained.keys()}.issuperset(trained.values()):
        return Ran()
    period = _period(["+".join(names) for names in train_ops])
    beside = _beside(saved, graph, runs, period, trainable)
    try:
        if not beside and choose_train_ops(graph, [], trainable) == period:
            return Ran()
    except TrainOpError:
        pass
    return Ran(period, beside)


def _train_ops(graph: Graph, runs: Sequence[Sequence[str]], trainable: Collection[str]) -> list[list[str]]:
    """Returns the train ops among the nodes of each run; a loss that waits for a train op in the same run is none.

    A run that trains nothing but clips weights, or the like, is a turn, too, and one that adds up gradients for another
    run, or sets them back.
    """
    updates = set(training_updates(graph, trainable))
    members = {name: graph.ancestors([name]) for run in runs for name in run}
    runs_of = {name: updates & found for name, found in members.items()}
    sums = accumulating_writes(graph, updates, trainable)
    changes = {
        name for name in graph.nodes if graph.type(name).startswith(ASSIGNMENTS) and variable_of(graph, name) in sums
    }
    for run in runs:
        if not any(runs_of[name] for name in run):
            own = {name: _changes_of_weights(graph, members[name], trainable) for name in run}
            runs_of.update({name: found | changes & members[name] for name, found in own.items()})
    found = []
    for run in runs:
        kept: list[str] = []
        for name in sorted(run, key=lambda name: (-len(runs_of[name]), graph.type(name) != "NoOp", name)):
            if not runs_of[name] <= set().union(*(runs_of[other] for other in kept)):
                kept.append(name)
        found.append(sorted(kept))
    return found


def _changes_of_weights(graph: Graph, members: Collection[str], trainable: Collection[str]) -> set[str]:
    """Returns those of some nodes that assign a weight what is computed from it alone, as clipping does."""
    return {name for name in members if assigns_from_itself(graph, name, trainable)}


def _period(names: Sequence[str]) -> list[str]:
    """Returns the shortest sequence that repeats, or begins to, or else each name in the order of its first use.

    >>> _period(["d", "d", "g", "d", "d", "g", "d"]), _period(["a", "a"]), _period(["d", "d", "g"])
    (['d', 'd', 'g'], ['a'], ['d', 'g'])
    >>> _period(["d", "d", "d", "g", "d", "d"])
    ['d', 'd', 'd', 'g']
    """
    for length in range(1, len(names)):
        if all(name == names[number % length] for number, name in enumerate(names)):
            return list(names[:length])
    return list(dict.fromkeys(names))


def _beside(
    saved: SavedGraph, graph: Graph, runs: Sequence[Sequence[str]], period: Sequence[str], trainable: Collection[str]
) -> list[str]:
    """Returns the nodes that every run fetched and that run updates which no train op runs.

    Any change of a variable that the train ops use is one: of a counter of the schedule's steps, also where they raise
    it, too, so that it counts twice; of rows of a weight, as the padding's that is set to zero.
    """
    targets = [name for names in period for name in names.split("+")]
    unused = {name for names in never_run(graph, targets, saved.collections, trainable).values() for name in names}
    members, written = graph.ancestors(targets), written_variables(graph)
    unused.update(name for name, variable in written.items() if variable in members and name not in members)
    always = set(runs[0]).intersection(*runs).difference(targets)
    return sorted(name for name in always if unused & graph.ancestors([name]))
