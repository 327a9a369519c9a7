"""`RecordedSteps`: the recording of an original run, which `legacy.recorder` wrote in the old environment."""

from __future__ import annotations

import dataclasses
import io
import os
from typing import TYPE_CHECKING, Dict, FrozenSet, List, Optional, Tuple

import numpy as np

from legacy.saved.graph.names.gradient_scopes import name_in_program
from legacy.saved.runs.recording_folder import STEPS, read_about
from workloads.lifted import checkpoint
from workloads.support.errors import InputError, require
from workloads.support.files.array_archive import ArrayArchive, ObjectsInArray
from workloads.support.files.input_files import require_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workloads.lifted.plan import Noise, Phase, Plan
    from workloads.program import Arrays

#: Most bytes of one step's arrays: `MOST_BYTES` plus `MOST_TENSORS` times the variables' size.
MOST_BYTES, MOST_TENSORS = 256 << 20, 64
#: Number of steps, from the start, that are searched for an input that one train op uses and another does not.
MOST_TRAIN_OPS = 8


class RecordedSteps:
    """The content of a recording, as it was written.

    Args:
      folder: the recording's folder, as given to `recorder.start`.
      plan: plan of the lift that it is compared with.

    Attributes:
      about: versions of TensorFlow and Python, and the names of the nodes that each step ran.
      numbers: the steps of the recording that ran the lift's train ops, in turn; others are left out.

    Raises:
      InputError: it is not a recording, is damaged, or of another program.
    """

    def __init__(self, folder: str, plan: Plan) -> None:
        self._folder = folder
        self._subject = f"--recording: {folder!r} is not a recording, or is damaged"
        self.about = read_about(folder, self._subject)
        self.numbers = _steps_in_turn(self.about["steps"], plan.phases)
        ran = "step 0 ran {}, this lift's train op is {}".format(
            ", ".join(self.about["steps"][0]), plan.phases[0].train_op
        )
        require(bool(self.numbers), "--recording", folder, ran)
        # A step is about as large as the variables that it holds, its inputs and its gradients on the way to them.
        variables = self.initial()
        self._most_bytes = MOST_BYTES + MOST_TENSORS * sum(array.nbytes for array in variables.values())
        packed = os.path.join(folder, STEPS)
        require_regular(packed, self._subject)
        self._archive = ArrayArchive(packed, self._subject, self._most_bytes * max(1, len(self)))
        self._latest: Optional[Tuple[int, Arrays]] = None  # step and arrays
        self._names: Dict[int, FrozenSet[str]] = {}  # of the arrays of each step that was read

    def __len__(self) -> int:
        return len(self.numbers)

    def step(self, number: int) -> Arrays:
        """Returns {"tensors/...", "before/..." or "after/...": array} of one of the lift's steps."""
        return self._recorded(self.numbers[number])

    def start_of(self, number: int) -> Arrays:
        """Returns {variable: array} before one of the lift's steps, as the runs between the steps have left it."""
        recorded = self.numbers[number]
        if recorded == 0:
            return self.initial()
        last = _of_prefix(self._recorded(recorded - 1), "after/")
        return dict(last, **_of_prefix(self._recorded(recorded), "before/"))

    def _recorded(self, number: int) -> Arrays:
        """Returns what a step of the recording wrote. Pipelines call it from threads of their own."""
        latest = self._latest
        if latest is None or latest[0] != number:
            member = f"{number:05d}.npz"
            if member not in self._archive:
                raise InputError(f"--recording: step {number} of {self._folder!r} is damaged: {member} is missing")
            content = io.BytesIO(self._archive.content(member, self._most_bytes))
            step = ArrayArchive(content, f"--recording: step {number} of {self._folder!r} is damaged")
            latest = (number, _arrays(step))
            self._names[number] = frozenset(latest[1])
        self._latest = latest
        return latest[1]

    def _holds(self, step: int, name: str) -> bool:
        """Returns whether one of the lift's steps recorded a tensor; reads each step once at most."""
        number = self.numbers[step]
        names = self._names.get(number)
        return f"tensors/{name}" in (self._recorded(number) if names is None else names)

    def initial(self) -> Arrays:
        """Returns {variable: array} before the first step."""
        return checkpoint.read_checkpoint(os.path.join(self._folder, "model.ckpt"))

    def tensor(self, step: int, name: str) -> np.ndarray | None:
        """Returns a recorded tensor, perhaps under the program's own name of a gradient; None without one."""
        recorded = self.step(step)
        value = recorded.get("tensors/" + name, recorded.get("tensors/" + name_in_program(name)))
        if value is not None and value.dtype.kind in "US":
            raise InputError(f"{self._subject}: {name!r} of step {step} holds texts, numbers are expected")
        return value

    def input(self, step: int, name: str) -> np.ndarray | None:
        """Returns a recorded input; another step's where this one's train op did not use it; None if no step has it.

        Batches of all train ops have the same inputs, so that one pipeline can deliver them.
        """
        for number in [step] + list(range(min(len(self), MOST_TRAIN_OPS))):
            if self._holds(number, name):
                return self.tensor(number, name)
        return None


def as_recorded(plan: Plan, steps: RecordedSteps) -> Plan:
    """Returns a plan in which random numbers that a recording lacks are drawn by their keys, as in a loop.

    A session does not fetch what a branch of a `cond` draws.

    Args:
      plan: of the lift.
      steps: the recording.

    Returns:
      The plan; itself where nothing is lacking.
    """
    lacking = [
        entry.name
        for entry in plan.noise + plan.common_noise
        if not entry.in_loop and any(steps.input(0, node + ":0") is None for node in entry.nodes if node)
    ]
    if not lacking:
        return plan

    def drawn(entries: Sequence[Noise]) -> List[Noise]:
        return [dataclasses.replace(entry, in_loop=entry.in_loop or entry.name in lacking) for entry in entries]

    return dataclasses.replace(plan, noise=drawn(plan.noise), common_noise=drawn(plan.common_noise))


def require_same_settings(plan: Plan, steps: RecordedSteps) -> None:
    """Raises `InputError` if the original ran with another value of a switch that the lift fixed, such as is_training.

    Args:
      plan: of the lift.
      steps: the recording.

    Raises:
      InputError: names the placeholder, or the variable, and both values.
    """
    start: Optional[Arrays] = None
    for name, value in plan.settings.items():
        seen = steps.input(0, name + ":0")
        if seen is None:
            start = steps.start_of(0) if start is None else start
            seen = start.get(name)
        if seen is not None and seen.size == 1 and np.asarray(value).astype(seen.dtype) != seen:
            given = str(seen.reshape(-1)[0])
            raise InputError(
                f"--recording: the original ran with {name} = {given}, the lift has {value}: lift it again with "
                f"--feed={name}={given.lower()}"
            )


def _arrays(step: ArrayArchive) -> Arrays:
    """Returns the arrays of a step, without Python objects: texts that were fed, as earlier recorders wrote them."""
    found = {}
    for name in step.names:
        try:
            found[name] = step.array(name)
        except ObjectsInArray:
            continue
    return found


def _of_prefix(arrays: Arrays, prefix: str) -> Arrays:
    return {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}


def _steps_in_turn(steps: Sequence[Sequence[str]], phases: Sequence[Phase]) -> List[int]:
    """Returns the numbers of the steps that ran some train ops in turn, the first one first.

    Args:
      steps: names of the nodes that each step ran.
      phases: the train ops; one that stands for several nodes of a run is known by the changes among these.
    """
    names = [{phase.train_op, *(effect.node for effect in phase.effects)} for phase in phases]
    named = [any(own.intersection(targets) for targets in steps) for own in names]
    found: List[int] = []
    for number, targets in enumerate(steps):
        turn = len(found) % len(phases)
        if names[turn].intersection(targets) or (not named[turn] and _covers(targets, phases[turn].train_op)):
            found.append(number)
    return found


def _covers(targets: Sequence[str], wanted: str) -> bool:
    """Returns whether the ops that were run need a train op indirectly (a loss with a control dependency on it)."""
    return any(wanted in target or target in wanted for target in targets)
