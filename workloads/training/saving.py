"""Saving and resuming of a training run: periodic checkpoints, the newest one loaded, and a last one on SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from workloads.support.errors import require

if TYPE_CHECKING:
    from types import FrameType

    from workloads.program import Program
    from workloads.training.checkpoints import Checkpoints


class Saving:
    """Saves a program's state every so many steps, at the end, and when a signal announces the end of the process.

    With several workers all save at the same step and all go on from the step that the chief found; only the chief
    writes.

    Args:
      checkpoints: `checkpoints.Checkpoints`.
      every: steps from one checkpoint to the next.
      tell: called with a line for people.
    """

    def __init__(self, checkpoints: Checkpoints, every: int, tell: Callable[[str], object]) -> None:
        require(every >= 1, "--checkpoint_every", every, "must be at least 1")
        self.every = every
        self._checkpoints, self._tell = checkpoints, tell
        self._signalled = False

    def listen(self, signals: Iterable[signal.Signals] = (signal.SIGTERM,)) -> None:
        """Makes each of `signals` end the training, saved, at its next line of output; a second one ends it at once."""
        for number in signals:
            signal.signal(number, self._note)

    def resume(self, program: Program, chief: bool = True) -> int:
        """Loads the newest usable checkpoint into `program`.

        Returns:
          the step it goes on from; the program's own if there is no checkpoint.
        """
        like = program.state()
        found = self._checkpoints.newest(like, self._tell) if chief else None
        step = int(program.agree(-1 if found is None else found.step))
        if step < 0:
            return like.step
        program.load(self._checkpoints.at(step, like) if found is None else found)
        self._tell(f"goes on from the checkpoint of step {step}")
        return step

    def after(self, program: Program, step: int, last: bool) -> bool:
        """Saves after a step if a checkpoint is due there.

        Args:
          program: the program that is trained.
          step: how many steps it has taken.
          last: whether the training ends here.

        Returns:
          True if the training is to stop here because of a signal to any of the workers.
        """
        stop = bool(program.agree(int(self._signalled)))
        if stop or last or step % self.every == 0:
            self._checkpoints.save(program.state())
        if stop or last:
            self._checkpoints.wait()
        if stop:
            self._tell(f"stopped by a signal at step {step}, which is saved")
        return stop and not last

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signalled = True
        signal.signal(number, signal.SIG_DFL)  # a second one ends it as it is
