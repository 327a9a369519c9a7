"""Numbers of a step: the functions of the step that data meet, such as a rate of dropout that grows with the step.

A changed constant of the step acts by these numbers alone. They are cheap to compute, where a step is not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from legacy.towers.graph_program import GraphProgram
from parity.coverage.graph.outside_constants import place_of
from parity.coverage.graph.step_functions import functions_and_constants
from parity.coverage.mutant import Effect
from workloads.lifted.graph import Graph, parse_tensor_name

#: {tensor name: value}.
Numbers: TypeAlias = Mapping[str, np.ndarray]


class NumberChange(NamedTuple):
    """The numbers of a step that a changed constant changes: {tensor name: value}, as they are and changed."""

    before: dict[str, np.ndarray]
    after: dict[str, np.ndarray]

    def is_beyond(self, other: NumberChange) -> bool:
        """Returns whether this change is of the same numbers as another one, and moves each at least as far.

        A number that is no float has to be changed to the same value, and a float in the same direction.
        """
        return self.before.keys() == other.before.keys() and all(
            _is_beyond(self.before[name], self.after[name], other.after[name]) for name in self.before
        )


class StepNumbers:
    """The numbers through which changed constants of the step affect values that depend on data.

    Args:
      program: runs the graph.
      graph: its graph.
      changing: names of the nodes that change variables: what waits for them is not computed beside the step.
    """

    def __init__(self, program: GraphProgram, graph: Graph, changing: Collection[str]) -> None:
        self._program, self._graph = program, graph
        self._run = graph.ancestors(program.train_nodes())
        functions, constant = functions_and_constants(graph, self._run)
        self._known = functions | constant
        self._shown = {parse_tensor_name(rate).node for rate in program.rate_tensors()}
        inside = graph.frames() | graph.branches()
        placeholders = {name for name in self._run if graph.type(name).startswith("Placeholder")}
        late = graph.descendants({*changing, *placeholders}) if changing or placeholders else set()
        self._computable = functions - inside - late
        self._found: dict[str, frozenset[str] | None] = {}
        self._names: list[str] = []

    def add(self, constants: Iterable[str]) -> None:
        """Adds constants, by their nodes; a run computes the numbers of all, so that the session prepares it once."""
        self._found.update({constant: self._find(constant) for constant in constants})
        self._names = sorted({name for names in self._found.values() for name in names or ()})

    def are_known(self, constants: Iterable[str]) -> bool:
        """Returns whether constants that were added reach data by computable numbers of the step alone."""
        return all(self._found.get(constant) is not None for constant in constants)

    def values(self) -> dict[str, np.ndarray]:
        """Returns the numbers from the program's state, with the tensors that are replaced in it."""
        return dict(zip(self._names, self._program.evaluate_without_data(self._names)))

    def _find(self, constant: str) -> frozenset[str] | None:
        """The numbers between a constant and data; None if data meet another node, or one that cannot be computed."""
        found, seen = set[str](), {constant}
        todo = [constant]
        while todo:
            name = todo.pop()
            if name in self._shown:
                found.add(f"{name}:0")
            for use in self._graph.users(name):
                if use.node not in self._run:
                    continue
                if use.node in self._known or self._is_place(constant, use.node):
                    if use.node not in seen:
                        seen.add(use.node)
                        todo.append(use.node)
                elif name in self._computable:
                    found.add(f"{name}:{use.output}")
                else:
                    return None
        return frozenset(found)

    def _is_place(self, constant: str, node: str) -> bool:
        """Whether a node is where a constant, which was moved out of control dependencies, has its value."""
        return node == place_of(constant) and self._graph.type(node) == "Identity"


class ShownChanges:
    """Changes of a step's numbers, each with the tensor by which the comparison saw it."""

    def __init__(self) -> None:
        self._tried: list[tuple[NumberChange, list[Effect]]] = []

    def effects_of(self, change: NumberChange) -> list[Effect]:
        """Returns the tensors by which smaller changes of the same numbers were seen."""
        return [effect for smaller, seen in self._tried for effect in seen if change.is_beyond(smaller)]

    def add(self, change: NumberChange) -> list[Effect]:
        """Returns the list for the tensor by which a change is seen: the last one that was looked at."""
        self._tried.append((change, []))
        return self._tried[-1][1]


def number_change(before: Numbers, after: Numbers) -> NumberChange:
    """Compares the numbers of a step.

    Args:
      before: the numbers.
      after: those with a changed constant.

    Returns:
      the numbers that have other bits.
    """
    names = [name for name in before if before[name].tobytes() != after[name].tobytes()]
    return NumberChange({name: before[name] for name in names}, {name: after[name] for name in names})


def _is_beyond(before: np.ndarray, after: np.ndarray, smaller: np.ndarray) -> bool:
    if before.dtype.kind != "f" or not all(np.isfinite(value).all() for value in (before, after, smaller)):
        return bool(np.array_equal(after, smaller))
    far, near = np.float64(after) - before, np.float64(smaller) - before
    return bool(np.all(np.sign(far) == np.sign(near)) and np.all(np.abs(far) >= np.abs(near)))
