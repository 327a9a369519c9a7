"""`BestCheckpoint`: the best state of a run by a metric of its evaluations, kept beside the other checkpoints."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Dict, Optional

from workloads.support.errors import InputError, require
from workloads.support.files import json_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from workloads.program import State
    from workloads.training.checkpoints import Checkpoints

#: File beside the checkpoint: {"metric", "value", "step"}.
FILE = "best.json"


class BestCheckpoint:
    """Keeps the state whose metric is the highest so far, or the lowest.

    Args:
      metric: name of the metric; with "-" before it the lowest is the best, as of a loss.
      folder: of the checkpoint.
      checkpoints: `Checkpoints` of that folder, which keep one.
    """

    def __init__(self, metric: str, folder: str, checkpoints: Checkpoints) -> None:
        self._text, self._path, self._checkpoints = metric, os.path.join(folder, FILE), checkpoints
        self._sign, self._name = (-1.0, metric[1:]) if metric.startswith("-") else (1.0, metric)
        self._best = self._read()

    def offer(self, state: State, means: Dict[str, float]) -> bool:
        """Keeps a state if it is better than all before.

        Args:
          state: that was evaluated.
          means: {metric: mean over the examples}.

        Returns:
          whether it is.

        Raises:
          InputError: the evaluation has no such metric, or the state cannot be written.
        """
        require(self._name in means, "--keep_best", self._text, "allowed: " + ", ".join(means) + ", or - before one")
        value = means[self._name]
        if not (self._best is None or self._sign * value > self._sign * self._best):  # NaN is never better
            return False
        self._checkpoints.save(state)
        self._checkpoints.wait()
        self._best = value
        json_file.write_json(self._path, {"metric": self._text, "value": value, "step": state.step})
        return True

    def state(self, like: State, tell: Callable[[str], object]) -> State:
        """Returns the state that is kept; `like` if none is.

        Args:
          like: a state of the same job.
          tell: called with a line about a checkpoint that cannot be used.
        """
        return self._checkpoints.newest(like, tell) or like

    def _read(self) -> Optional[float]:
        """The value that an earlier run of the same folder has kept; None if there is none of this metric."""
        if not os.path.exists(self._path):
            return None
        try:
            with open(self._path, encoding="utf-8") as file:
                kept = json.load(file)
            return float(kept["value"]) if kept["metric"] == self._text else None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"--keep_best: cannot read {self._path}: {error}")
