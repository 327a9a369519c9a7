"""Mutants of a training graph's constants: the towers take the step again with one of them changed."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from legacy.saved.graph.conditions import Branch
from legacy.towers.graph_program import GraphProgram
from parity.comparison import stages
from parity.comparison.floats import length
from parity.coverage.graph.constants import ConstantIndex, GraphConstant, opposite_change
from parity.coverage.graph.joint_steps import JointSteps, OwnChange
from parity.coverage.graph.outside_constants import place_of
from parity.coverage.graph.step_numbers import NumberChange, ShownChanges, number_change
from parity.coverage.mutant import Choice, Effect, Mutant
from parity.coverage.observed_step import ObservedStep
from workloads.lifted.graph import parse_tensor_name
from workloads.program import State, StepRecord
from workloads.support.errors import InputError

#: {pattern of a constant's name: the reason why no step depends on it}, for guards inside of TensorFlow's functions.
GUARDS = {
    r"(^|/)case[^/]*/If_0/Const": "tf.case's value where no condition holds, which its default excludes",
    r"clip_by_norm[^/]*/(Greater/y|ones_like)": "tf.clip_by_norm's guard of the root of zero: that gradient stays zero",
}

#: Reason why a changed constant was not seen.
HINT = "changes no compared tensor in any compared step"


class ConstantChange(NamedTuple):
    """Another value of one constant.

    Attributes:
      key: number of the mutant that it makes.
      values: {tensor name: changed value}.
      opposite: {tensor name: value} of a change by as much in the other direction; {} where that is another mutant.
      branches: those of a `cond` that all uses of the constant are in; none without.
    """

    key: int
    values: dict[str, np.ndarray]
    opposite: dict[str, np.ndarray] = {}
    branches: frozenset[Branch] = frozenset()


class MutatedTowers:
    """The towers with changed constants. A port that has such a constant differs from the towers as these do.

    Where no result of a tower depends on a constant, its mutant takes the results of the step without a change: forward
    and backward pass, most of the time of a step, run once for all of these mutants. A changed constant of the step
    takes no step where it changes no number that data meet, nor where a smaller change of the same numbers was seen,
    nor does one of branches that the step does not take. Changes of variables of their own are tried in one step.

    Args:
      program: towers of their own, which take each step from its own state.
    """

    def __init__(self, program: GraphProgram) -> None:
        self._program = program
        self.index = ConstantIndex(program)
        self._own: dict[str, np.ndarray] = {}  # values that every step is given, changed or not
        self._refused: dict[int, str] = {}
        self._hidden: dict[int, str] = {}
        self._right: tuple[ObservedStep, StepRecord] | None = None
        self._results: tuple[ObservedStep, Any] | None = None  # of the towers, in the last step that was asked for
        self._bounds: dict[str, np.ndarray] = {}
        self._step_numbers = self.index.step_numbers()
        self._predicate_names: set[str] = set()
        self._predicates: Mapping[str, np.ndarray] = {}  # of the unchanged step, as far as they are known
        self._loaded: ObservedStep | None = None  # the step from whose state the program would go on
        self._numbers: tuple[ObservedStep, dict[str, np.ndarray], ShownChanges] | None = None  # of the last step
        self._joint = JointSteps()

    def set_bounds(self, values: Mapping[str, np.ndarray]) -> None:
        """Takes all steps from now on, those of mutants too, with other values of some constants.

        Args:
          values: {tensor name: value}; {} for the graph's own.
        """
        self._bounds, self._right, self._results, self._numbers = dict(values), None, None, None
        self._joint.forget()

    def step_from(self, state: State) -> StepRecord:
        """Returns a step from a state, with the bounds that are set."""
        self._loaded = None
        self._program.load(state)
        self._program.replace_tensors({**self._own, **self._bounds})
        return self._program.step()

    def mutants(self, with_towers: bool) -> Iterator[Mutant]:
        """Yields the mutants of the constants; of those of the step, small changes first, whose steps show large ones.

        Args:
          with_towers: also of those inside of the towers, not only of the update and of functions of the step: what
            a tower computes from its data is compared in every step, but not what it will compute later.
        """
        chosen = [c for c in self.index.constants() if with_towers or c.of_step or not c.in_towers]
        for constant in chosen:
            self._own.update(self.index.own_values(constant))
            if constant.of_step and constant.in_towers:
                self._step_numbers.add(constant.nodes)
        changes = [
            (constant, words, values) for constant in chosen for words, values in self.index.changed_values(constant)
        ]
        changes.sort(key=lambda one: _relative_size(one[0], one[2]) if one[0].of_step else 0.0)
        used_in = [self.index.only_branches(values) for _, _, values in changes]
        self._predicate_names = {branch.predicate.name for branches in used_in for branch in branches}
        made, first = [], len(self._refused)
        for number, ((constant, words, values), branches) in enumerate(zip(changes, used_in), first):
            made.append((constant, words, ConstantChange(number, values, opposite_change(constant, values), branches)))
        self._joint.set_changes(list(self._own_changes(made)))
        for constant, words, change in made:
            yield self._mutant(constant, words, change)

    def _own_changes(self, made: Sequence[tuple[GraphConstant, str, ConstantChange]]) -> Iterator[OwnChange]:
        """Yields the changes that reach variables of their own alone, as those of a statistic's decay do."""
        own_variables = self.index.own_variables()
        for constant, _, change in made:
            if not constant.of_step and not change.branches and change.values.keys() <= self._own.keys():
                reached = own_variables.reached(constant.nodes)
                if reached is not None:
                    is_update = self._program.holds_results and self.index.is_outside_towers(change.values)
                    yield OwnChange(change.key, change.values, change.opposite, *reached, kind=is_update)

    def find_small_gradients(self, state: State, steps: int) -> State:
        """Takes steps with the graph's own constants.

        Args:
          state: the state to start from.
          steps: number of steps.

        Returns:
          the state before the step in which a tower's gradient was smallest.
        """
        self._loaded = None
        self._program.load(state)
        self._program.replace_tensors({})
        smallest, found = np.inf, state
        for _ in range(steps):
            record = self._program.step()
            shortest = min((length(gradients.values()) for gradients in record.gradients), default=np.inf)
            if 0.0 < shortest < smallest:
                smallest, found = shortest, state
            state = record.state
        return found

    def close(self) -> None:
        """Closes the towers."""
        self._program.close()

    def _mutant(self, constant: GraphConstant, words: str, change: ConstantChange) -> Mutant:
        self._refused[change.key] = ""
        return Mutant(
            Choice.CONSTANT,
            f"constant {place_of(constant.name)}",
            words,
            functools.partial(self._effects, change),
            lambda: HINT,
            functools.partial(self._why_harmless, change),
        )

    def _why_harmless(self, change: ConstantChange) -> str:
        key, values = change.key, change.values
        if key not in self._hidden:  # by the graph alone, so that it is found once
            self._hidden[key] = why_guard(next(iter(values))) or self.index.why_hidden(values)
        return self._refused[key] or self._hidden[key]

    def _effects(self, change: ConstantChange, step: ObservedStep) -> Iterator[Effect]:
        """Yields the effects of a changed constant in a step; in a visit, also those of the opposite change."""
        values, opposite, branches = change.values, change.opposite, change.branches
        right = self._unchanged(step)
        if branches and not any(self._may_take(branch) for branch in branches):
            return
        is_update = self._program.holds_results and self.index.is_outside_towers(values)
        results = self._results_of(step) if is_update else None
        joint = self._joint.effects(change.key, step, right, lambda all_of: self._step(step, all_of, results))
        if joint is not None:
            yield from joint
            return
        for changed in (values, opposite) if step.visit is not None and opposite else (values,):
            numbers = None if is_update else self._change_of_numbers(step, changed)
            if numbers is not None and not numbers.before:
                continue
            yield from self._shown(step).effects_of(numbers) if numbers is not None else []
            try:
                wrong = self._step(step, changed, results)
            except (InputError, tf.errors.OpError, ValueError) as error:
                self._refused[change.key] = f"no step runs with another one: {' '.join(str(error).split())[:80]}"
                return
            last = self._shown(step).add(numbers) if numbers is not None else []
            for (stage, name, a), (_, _, b) in zip(stages.tensors(right), stages.tensors(wrong)):
                last[:] = [Effect(stage, name, a, b)]  # the last one that is asked for is seen, or else all were
                yield last[0]
            last.clear()

    def _change_of_numbers(self, step: ObservedStep, changed: Mapping[str, np.ndarray]) -> NumberChange | None:
        """The numbers of a step that changed constants reach data by; None if these are not known."""
        nodes = [parse_tensor_name(name).node for name in changed]
        if not changed or not self._step_numbers.are_known(nodes):
            return None
        before, _ = self._numbers_of(step)
        self._replace(changed)
        self._load(step)
        return number_change(before, self._step_numbers.values())

    def _shown(self, step: ObservedStep) -> ShownChanges:
        return self._numbers_of(step)[1]

    def _numbers_of(self, step: ObservedStep) -> tuple[dict[str, np.ndarray], ShownChanges]:
        """The numbers of a step, whose state is loaded, and the changes of them that were seen in it."""
        if self._numbers is None or self._numbers[0] is not step:
            self._replace({})
            self._load(step)
            self._numbers = (step, self._step_numbers.values(), ShownChanges())
        return self._numbers[1:]

    def _unchanged(self, step: ObservedStep) -> StepRecord:
        """The step without a change, with the predicates of its branches; of the last step asked for it is known."""
        if self._right is None or self._right[0] is not step:
            self._start(step, {})
            record, self._predicates = self._program.step_with(sorted(self._predicate_names))
            self._right = (step, record)
        return self._right[1]

    def _may_take(self, branch: Branch) -> bool:
        """Whether the unchanged step that was taken last may have taken a branch."""
        value = self._predicates.get(branch.predicate.name)
        return value is None or bool(value) == bool(branch.value)

    def _results_of(self, step: ObservedStep) -> Any:
        """The towers' results in a step; None where a step that is given them is another one than theirs."""
        if self._results is None or self._results[0] is not step:
            right = self._unchanged(step)
            self._replace({})
            self._load(step)
            self._loaded = None
            results = self._program.tower_results()
            given = right if results is None else self._step(step, {}, results)
            pairs = zip(stages.tensors(right), stages.tensors(given))
            same = all(_are_same(np.asarray(a), np.asarray(b)) for (_, _, a), (_, _, b) in pairs)
            self._results = (step, results if same else None)
        return self._results[1]

    def _step(self, step: ObservedStep, values: Mapping[str, np.ndarray], results: Any = None) -> StepRecord:
        self._start(step, values)
        self._program.hold_results(results)
        try:
            return self._program.step()
        finally:
            self._program.hold_results(None)

    def _start(self, step: ObservedStep, values: Mapping[str, np.ndarray]) -> None:
        """Has the program start from a step's state, with changed constants."""
        self._replace(values)
        self._load(step)
        self._loaded = None

    def _load(self, step: ObservedStep) -> None:
        """Has the program start from a step's state, unless it is in it."""
        if self._loaded is not step:
            self._program.load(step.before)
            self._loaded = step

    def _replace(self, values: Mapping[str, np.ndarray]) -> None:
        """Has the program run with changed constants; a mutant of a bound changes the one that is set by as much."""
        changed = {
            name: np.asarray(value * (self._bounds[name] / self._own[name]), value.dtype)
            if name in self._bounds and name in self._own
            else value
            for name, value in values.items()
        }
        self._program.replace_tensors({**self._own, **self._bounds, **changed})


def _relative_size(constant: GraphConstant, values: Mapping[str, np.ndarray]) -> float:
    """The largest part by which the value of a constant is changed; infinite from zero."""
    own = np.asarray(constant.value, np.float64)
    size = np.max(np.abs(own))
    changed = max(float(np.max(np.abs(np.asarray(value, np.float64) - own))) for value in values.values())
    return changed / float(size) if np.isfinite(size) and size else float("inf")


def _are_same(left: np.ndarray, right: np.ndarray) -> bool:
    return left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes()


def why_guard(tensor: str) -> str:
    """Returns the reason why a constant of one of TensorFlow's own functions cannot matter, or "".

    >>> why_guard("clip_by_norm_3/Greater/y:0")
    "tf.clip_by_norm's guard of the root of zero: that gradient stays zero"
    """
    return next((reason for pattern, reason in GUARDS.items() if re.search(pattern, tensor)), "")
