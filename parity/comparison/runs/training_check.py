"""Check that a run trains: two programs that change nothing agree in every tensor, and show nothing."""

from __future__ import annotations

import numpy as np

from workloads.program import State, StepRecord

#: The line in `Verification.not_shown` of a run without such a step.
UNTRAINED = "training (in no step is there a gradient other than zero that changes a weight)"


class TrainingCheck:
    """Looks at the steps of one side until one of them trains.

    Attributes:
      steps: number of steps that were looked at.
      has_trained: whether one of them changed a weight by a gradient other than zero.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.has_trained = False

    def add(self, record: StepRecord, before: State) -> None:
        """Looks at a step that was taken from the state `before`."""
        self.steps += 1
        self.has_trained = self.has_trained or trains(record, before)

    def not_shown(self) -> list[str]:
        """Returns the line for `Verification.not_shown`, or none where a step trained or none was taken."""
        return [UNTRAINED] if self.steps and not self.has_trained else []


def trains(record: StepRecord, before: State) -> bool:
    """Returns whether a step changed a weight, and had a gradient other than zero.

    Args:
      record: the step's record; one without any gradients is judged by its weights alone.
      before: the state that the step was taken from.
    """
    weights = record.state.weights
    changed = any(
        name in before.weights and not np.array_equal(before.weights[name], weights[name]) for name in weights
    )
    gradients = [array for arrays in [record.combined, *record.gradients] for array in arrays.values()]
    return changed and (not gradients or any(np.any(array) for array in gradients))
