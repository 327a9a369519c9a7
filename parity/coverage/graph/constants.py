"""Constants of a training graph: those that a step depends on, and their changed values."""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph.conditions import Branch
from legacy.towers.graph_program import GraphProgram
from parity.coverage.changed_constants import FACTOR
from parity.coverage.graph import exponents
from parity.coverage.graph.boundaries import COMPARISONS, is_beside_period, is_boundary, only_changes_rates
from parity.coverage.graph.changed_numbers import (
    EPSILON,
    HALF_STAIR,
    OVERFLOWING,
    changed_numbers,
    is_term_of_floor,
    only_asks_finite,
    words_of,
)
from parity.coverage.graph.constant_parts import ConstantParts
from parity.coverage.graph.hidden_changes import HiddenChanges
from parity.coverage.graph.independent_changes import OwnVariables
from parity.coverage.graph.outside_constants import place_of
from parity.coverage.graph.step_functions import constants_of_step, is_period
from parity.coverage.graph.step_numbers import StepNumbers
from workloads.lifted.graph import TWO_WAY_SWITCHES, Graph, parse_tensor_name

#: A threshold is changed by this factor; only values between the old and the new threshold show it.
THRESHOLD_FACTOR = 1.25

#: Most elements of a constant that every step is given; see `ConstantIndex.own_values`.
MOST_GIVEN = 1024

#: Periods from this number of steps on are also halved: the half of a shorter one is one less, or 1.
SHORTEST_HALVED = 4

#: Ops that bound a value by another one.
_BOUNDING = ("ClipByValue", "Maximum", "Minimum")

#: The towers' name scopes in the graphs that this project builds.
_TOWER = re.compile(r"^tower_(\d+)/")

#: Types of ops that change a variable.
_CHANGES = re.compile(r"(Resource)?(Sparse)?(Assign|Apply|Scatter(?!Nd$|NdNonAliasingAdd$))")


class GraphConstant(NamedTuple):
    """A constant of the graph, or the same one of every tower.

    Attributes:
      name: the node's, without its tower.
      nodes: the nodes.
      value: its value.
      in_towers: whether the towers' losses or gradients depend on it.
      is_rate_boundary: whether it is only a step at which learning rates change, or from which every n-th step counts.
      of_step: whether it makes what is computed depend on the number of the step.
      is_zero_bound: whether it is a whole number 0 that only bounds others, as in `maximum(step - 10, 0)`.
    """

    name: str
    nodes: tuple[str, ...]
    value: np.ndarray
    in_towers: bool
    is_rate_boundary: bool = False
    of_step: bool = False
    is_zero_bound: bool = False


class ConstantIndex:
    """The constants that the steps of a program depend on.

    Args:
      program: the program, whose graph is read.
    """

    def __init__(self, program: GraphProgram) -> None:
        self._program = program
        self._graph = Graph(program.graph.as_graph_def())
        self._parts = ConstantParts(self._graph)

    def constants(self) -> Iterator[GraphConstant]:
        """Yields the constants that can be changed: all floats, and the whole numbers that are no shapes.

        Whole numbers: those that learning rates, keys of random numbers and functions of the step are computed from.
        """
        graph, program = self._graph, self._program
        given = {parse_tensor_name(tensor).node for tensor in program.given_tensors()}
        towers = self._ancestors_of_tensors(program.tower_tensors())
        run = graph.ancestors(program.train_nodes(), stop=given)
        # What an update only waits for changes no result.
        used = graph.ancestors(_changing(graph, run), stop=given, controls=False) | (towers if given else run & towers)
        numbers = self._ancestors_of_tensors(program.rate_tensors()) | self._ancestors_of_keys(used)
        of_step = constants_of_step(graph, used)
        groups: collections.defaultdict[str, list[str]] = collections.defaultdict(list)
        for name in sorted(used):
            if graph.type(name) == "Const" and self._is_choice(name, name in numbers | of_step):
                groups[_TOWER.sub("", name)].append(name)
        for name, nodes in groups.items():
            values = [self._value(node) for node in nodes]
            if all(np.array_equal(value, values[0]) for value in values):
                yield self._found(name, nodes, values[0], towers, of_step)
            else:
                for node, value in zip(nodes, values):
                    yield self._found(node, [node], value, towers, of_step)

    def _found(
        self, name: str, nodes: list[str], value: np.ndarray, towers: set[str], of_step: set[str]
    ) -> GraphConstant:
        first = nodes[0]
        users = {self._graph.type(use.node) for node in nodes for use in self._graph.users(place_of(node))}
        is_zero = value.dtype.kind in "iu" and value.size == 1 and not np.any(value)
        is_zero_bound = is_zero and users in ({"Maximum"}, {"Minimum"})
        return GraphConstant(
            name, tuple(nodes), value, first in towers, self._is_rate_boundary(nodes), first in of_step, is_zero_bound
        )

    def changed_values(self, constant: GraphConstant) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
        """Yields the changes of a constant, each in words and as {tensor name: value}.

        A period of steps is halved too, as where it was divided by the towers: its multiples are multiples of the half.
        A boundary of a schedule has one, whose `opposite_change` visits try too: where the pieces meet, as those of a
        warm-up that ends at the rate, a step earlier or a step later is the same schedule. So has a whole number 0 that
        bounds another one, as in `maximum(step - 10, 0)`, of which one side may never be used. A term of what is
        rounded down, as in `floor(1 + step / 16)`, is changed by a half: few steps are as near a stair as a hundredth.
        """
        uses = {self._graph.type(use.node) for node in constant.nodes for use in self._graph.users(place_of(node))}
        is_threshold = bool(uses) and uses <= set(COMPARISONS)
        changed = changed_numbers(constant.value, THRESHOLD_FACTOR if is_threshold else FACTOR)
        if exponents.is_whole_exponent(self._graph, map(place_of, constant.nodes), constant.value):
            changed = [np.asarray(constant.value + exponents.STEP, constant.value.dtype)]
        elif constant.value.dtype.kind == "f" and is_term_of_floor(self._graph, constant.nodes):
            changed = [np.asarray(constant.value + HALF_STAIR, constant.value.dtype)]
        elif constant.value.dtype == np.float32 and only_asks_finite(self._graph, constant.nodes):
            changed = [np.full_like(constant.value, OVERFLOWING)]
        if is_period(self._graph, list(map(place_of, constant.nodes))) and constant.value >= SHORTEST_HALVED:
            changed.append(constant.value // 2)
        for value in changed[:1] if constant.is_rate_boundary or constant.is_zero_bound else changed:
            words = f"{words_of(constant.value)} -> {words_of(value)}"
            yield words, {node + ":0": value for node in constant.nodes}

    def step_numbers(self) -> StepNumbers:
        """Returns the numbers through which changed constants of the step affect values that depend on data."""
        return StepNumbers(self._program, self._graph, self._changing_nodes)

    def bounds(self) -> Iterator[GraphConstant]:
        """Yields the constants of the update that bound values of a step, such as the limit of a clipping."""
        for constant in self.constants():
            if constant.in_towers or not np.any(constant.value) or not np.isfinite(constant.value).all():
                continue
            read = {place for node in constant.nodes for place in self._parts.frontier(node) or {place_of(node) + ":0"}}
            users = {use.node for place in read for use in self._graph.users(parse_tensor_name(place).node)}
            if any(self._graph.type(user) in _BOUNDING and not self._parts.has(user) for user in users):
                yield constant

    def own_values(self, constant: GraphConstant) -> dict[str, np.ndarray]:
        """Returns {tensor name: value} of a constant that every step may be given in its place.

        TensorFlow prepares a graph anew for each set of tensors that it is given: steps of a graph with thousands of
        constants would take hours if each were given its own. Large constants, which would be copied at every step, and
        those in loops and branches, which a step would use in the branch that is not taken, are left out.
        """
        is_small = constant.value.size <= MOST_GIVEN
        return {node + ":0": constant.value for node in constant.nodes if is_small and node not in self._inside}

    def only_branches(self, changed: Iterable[str]) -> frozenset[Branch]:
        """Returns the branches that all uses of constants are in, given by the names of their tensors; none without.

        Where a step takes none of these branches, a change of the constants changes nothing: they enter by Switches,
        of which nothing uses the other output. Only branches whose predicates are outside of any branch are found.
        """
        graph, found = self._graph, set[Branch]()
        for use in (use for name in changed for use in graph.users(parse_tensor_name(name).node)):
            predicate = graph.inputs(use.node)[-1]
            if graph.type(use.node) not in TWO_WAY_SWITCHES or use.position != 0 or predicate.node in self._inside:
                return frozenset()
            found |= {Branch(predicate, after.output) for after in graph.users(use.node)}
        return frozenset(found)

    @functools.cached_property
    def _inside(self) -> set[str]:
        return self._graph.frames() | self._graph.branches()

    def is_outside_towers(self, changed: Iterable[str]) -> bool:
        """Returns whether no result of a tower depends on some constants, given by the names of their tensors."""
        return self._before_results.isdisjoint(parse_tensor_name(name).node for name in changed)

    def own_variables(self) -> OwnVariables:
        """Returns what finds the variables that constants alone reach."""
        return OwnVariables(self._graph, self._run, self._changing_nodes, self._ends - self._changing_nodes)

    def why_hidden(self, changed: Mapping[str, np.ndarray]) -> str:
        """Returns the reason why a change cannot matter, such as constants that hide it; "" if it may matter."""
        return self._hidden.why(changed)

    def counted_numbers(self) -> list[int]:
        """Returns the numbers from 2 on that learning rates are computed from: among them are steps of the schedule."""
        nodes = self._ancestors_of_tensors(self._program.rate_tensors())
        values = [self._value(node) for node in nodes if self._graph.type(node) == "Const"]
        scalars = [float(value.item()) for value in values if value.size == 1 and value.dtype.kind in "iuf"]
        return sorted({int(value) for value in scalars if value >= 2 and value == int(value) and value < 2**31})

    def _is_rate_boundary(self, nodes: list[str]) -> bool:
        places, rates = (
            list(map(place_of, nodes)),
            {parse_tensor_name(rate).node for rate in self._program.rate_tensors()},
        )
        is_number = self._value(nodes[0]).dtype.kind in "iu" and is_boundary(self._graph, places)
        return is_number and (
            is_beside_period(self._graph, places) or only_changes_rates(self._graph, places, rates, self._ends)
        )

    @functools.cached_property
    def _before_results(self) -> set[str]:
        """Nodes that the towers' results depend on, or wait for."""
        return self._graph.ancestors({parse_tensor_name(name).node for name in self._program.result_tensors()})

    @functools.cached_property
    def _run(self) -> set[str]:
        """Nodes that the steps run."""
        return self._graph.ancestors(self._program.train_nodes())

    @functools.cached_property
    def _changing_nodes(self) -> set[str]:
        """Those of them that change variables."""
        return _changing(self._graph, self._run)

    @functools.cached_property
    def _hidden(self) -> HiddenChanges:
        return HiddenChanges(self._graph, self._parts, self._run, self._ends)

    @functools.cached_property
    def _ends(self) -> set[str]:
        """Nodes with values that are compared, or that change compared values."""
        shown = self._program.tower_tensors() + self._program.rate_tensors()
        return self._changing_nodes | {parse_tensor_name(name).node for name in shown}

    def _ancestors_of_tensors(self, tensors: list[str]) -> set[str]:
        return self._graph.ancestors({parse_tensor_name(tensor).node for tensor in tensors}, controls=False)

    def _ancestors_of_keys(self, used: set[str]) -> set[str]:
        keys = {self._graph.inputs(name)[1].node for name in used if self._graph.type(name).startswith("Stateless")}
        return self._graph.ancestors(keys, controls=False)

    def _is_choice(self, node: str, is_number: bool) -> bool:
        kind = tf.as_dtype(self._graph.nodes[node].attr["dtype"].type)
        if kind.is_floating:
            return self._value(node).size > 0
        return is_number and kind.is_integer and self._value(node).size == 1

    def _value(self, node: str) -> np.ndarray:
        return np.asarray(tf.make_ndarray(self._graph.nodes[node].attr["value"].tensor))


def _changing(graph: Graph, nodes: set[str]) -> set[str]:
    """The nodes that change variables; ops that scatter into a tensor, or into a tensor array, change none."""
    return {name for name in nodes if _CHANGES.match(graph.type(name))}


def opposite_change(constant: GraphConstant, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns {tensor name: value} of a change by as much in the other direction.

    A schedule may round down what a constant is a term of, `floor(log(1 + epochs))`: at whole epochs, only a smaller
    constant shows.

    Args:
      constant: the constant.
      values: {tensor name: changed value}.

    Returns:
      The change; {} for whole numbers that have a mutant of each direction, for epsilons, arrays of zeros and infinity.
    """
    is_bound = constant.value.size == 1 and not np.any(constant.value)  # the 0 of `maximum(0., step - 100) // 50`
    has_one = constant.is_rate_boundary or constant.is_zero_bound or constant.value.dtype.kind not in "iu"
    is_epsilon = np.all(np.abs(constant.value) < EPSILON) and not is_bound
    if not has_one or is_epsilon or not np.isfinite(constant.value).all():
        return {}
    own = np.asarray(constant.value, np.float64)
    return {name: np.asarray(2 * own - value, constant.value.dtype) for name, value in values.items()}
