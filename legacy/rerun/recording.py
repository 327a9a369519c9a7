"""`RecordedSteps`: the recording of an original run, which `legacy.recorder` wrote in the old environment."""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

import numpy as np

from workloads.lifted import checkpoint
from workloads.support.errors import InputError, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workloads.lifted.plan import Plan
    from workloads.program import Arrays

#: Version of the recording's files.
FORMAT = 1
#: Number of steps, from the start, that are searched for an input that one train op uses and another does not.
MOST_TRAIN_OPS = 8


class RecordedSteps:
    """The content of a recording, as it was written.

    Args:
      folder: the recording's folder, as given to `recorder.start`.
      plan: plan of the lift that it is compared with.

    Attributes:
      about: versions of TensorFlow and Python, and the names of the nodes that each step ran.

    Raises:
      InputError: it is not a recording, is damaged, or of another program.
    """

    def __init__(self, folder: str, plan: Plan) -> None:
        try:
            with open(os.path.join(folder, "recording.json"), encoding="utf-8") as file:
                self.about: Dict[str, Any] = json.load(file)
            self._zip = zipfile.ZipFile(os.path.join(folder, "steps.zip"))
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"--recording: {folder!r} is not a recording, or is damaged: {error}") from error
        require(self.about.get("format") == FORMAT, "--recording", folder, f"expected format {FORMAT}")
        self._folder = folder
        self._latest: Optional[Tuple[int, Arrays]] = None  # step and arrays
        for step, targets in enumerate(self.about["steps"]):
            wanted = plan.phases[step % len(plan.phases)].train_op
            require(
                wanted in targets or _covers(targets, wanted),
                "--recording",
                folder,
                "step {} ran {}, this lift's train op is {}".format(step, ", ".join(targets), wanted),
            )

    def __len__(self) -> int:
        return len(self.about["steps"])

    def step(self, number: int) -> Arrays:
        """Returns {"tensors/..." or "after/...": array} of one step. Pipelines call it from threads of their own."""
        latest = self._latest
        if latest is None or latest[0] != number:
            try:
                content = self._zip.read(f"{number:05d}.npz")
                with np.load(io.BytesIO(content)) as arrays:
                    latest = (number, {name: arrays[name] for name in arrays.files})
            except (KeyError, ValueError, zipfile.BadZipFile) as error:
                raise InputError(f"--recording: step {number} of {self._folder!r} is damaged: {error}") from error
        self._latest = latest
        return latest[1]

    def initial(self) -> Arrays:
        """Returns {variable: array} before the first step."""
        return checkpoint.read_checkpoint(os.path.join(self._folder, "model.ckpt"))

    def tensor(self, step: int, name: str) -> np.ndarray | None:
        """Returns a recorded tensor; None if the step did not record it."""
        return self.step(step).get("tensors/" + name)

    def input(self, step: int, name: str) -> np.ndarray | None:
        """Returns a recorded input; another step's where this one's train op did not use it; None if no step has it.

        Batches of all train ops have the same inputs, so that one pipeline can deliver them.
        """
        for number in [step] + list(range(min(len(self), MOST_TRAIN_OPS))):
            value = self.tensor(number, name)
            if value is not None:
                return value
        return None


def _covers(targets: Sequence[str], wanted: str) -> bool:
    """Returns whether what was run includes a train op indirectly (a loss with a control dependency on it)."""
    return any(wanted in target or target in wanted for target in targets)
