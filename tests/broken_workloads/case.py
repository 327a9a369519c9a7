"""A workload without a fault, and the case of one with a fault."""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from workloads import layers, optimizers, schedules
from workloads.workload import InputSpec, Workload


@dataclasses.dataclass(frozen=True)
class Healthy(Workload):
    """A small net without a fault."""

    name: str = "net"
    global_batch: int = 8
    optimizer: optimizers.Optimizer = optimizers.Momentum()
    learning_rate: Any = schedules.Fixed(0.125)

    def inputs(self):
        return {"x": InputSpec((4,)), "labels": InputSpec((), "int", classes=3)}

    def loss(self, scope, batch):
        return self.head(scope, batch["x"], batch)

    def head(self, scope, x, batch):
        """The loss of features `x`."""
        return layers.cross_entropy(layers.dense(scope.child("out"), x, 3), batch["labels"])


class Case(NamedTuple):
    """A broken workload.

    Attributes:
      name: of the fault.
      workload: has it.
      function: the user's function whose line is to be named.
      error: `UserError`, or `InputError` where a check finds it.
      says: part of the message.
    """

    name: str
    workload: Workload
    function: Any
    error: type[Exception]
    says: str


def place_of(function: Any) -> str:
    """Returns file and line, as "tests/broken_workloads/losses.py:12", that a message about a function is to name."""
    lines, first = inspect.getsourcelines(function)
    line = first + next((i for i, text in enumerate(lines) if text.rstrip().endswith("# here")), 0)
    return f"{os.path.relpath(inspect.getsourcefile(function) or '')}:{line}"


def workload_with(**members: Any) -> Workload:
    """Returns `Healthy` with other methods, or other values of its fields."""
    names = {field.name for field in dataclasses.fields(Healthy)}
    methods = {name: value for name, value in members.items() if name not in names}
    kind = type("Broken", (Healthy,), methods)
    return kind(**{name: value for name, value in members.items() if name in names})


def fault(cases: list[Case], member: str, error: type[Exception], says: str) -> Callable[[Any], Any]:
    """Makes a decorator that adds the case of a workload whose `member` is the function."""

    def add(function: Any) -> Any:
        cases.append(Case(function.__name__, workload_with(**{member: function}), function, error, says))
        return function

    return add
