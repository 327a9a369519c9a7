"""Replay: step records that were kept in memory, as a program whose steps they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workloads.program import Program, State, StepRecord
from workloads.variable_spec import VariableSpec


class Replay(Program):
    """Records that were kept in memory, as a `Program` that can be run again.

    Args:
      variables: the program's variables.
      state: state before the first record.
      records: one a step.
      about: {setting: text}, the program's description of itself.
    """

    side = "replay"

    def __init__(
        self,
        variables: Sequence[VariableSpec],
        state: State,
        records: Sequence[StepRecord],
        about: Mapping[str, str] | None = None,
    ) -> None:
        self._variables, self._initial, self._records, self._about = variables, state, records, about or {}
        self._next = 0

    def again(self) -> Replay:
        """Returns a copy that starts at the first record."""
        return Replay(self._variables, self._initial, self._records, self._about)

    def variables(self) -> Sequence[VariableSpec]:
        return self._variables

    def describe(self) -> dict[str, str]:
        return dict(self._about)

    def state(self) -> State:
        return self._records[self._next - 1].state if self._next else self._initial

    def step(self) -> StepRecord:
        self._next += 1
        return self._records[self._next - 1]


def replay_of_steps(program: Program, steps: int) -> Replay:
    """Runs `steps` steps of `program` and returns a `Replay` of them."""
    state = program.state()
    return Replay(program.variables(), state, [program.step() for _ in range(steps)], program.describe())
