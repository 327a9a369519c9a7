"""`CheckpointSaver`: periodic checkpoints of a training run, a last one on a signal, and resumption from the newest."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, List

from workloads.support.errors import require
from workloads.support.processes import ending

if TYPE_CHECKING:
    from workloads.program import Program
    from workloads.training.checkpoints import Checkpoints


class CheckpointSaver:
    """Saves a program's state periodically, at the end, and when a signal announces the end of the process.

    With several workers all save at the same step and all go on from the step that the chief found; only the chief
    writes.

    Args:
      checkpoints: `checkpoints.Checkpoints`.
      every: steps from one checkpoint to the next.
      tell: called with a line for people.

    Attributes:
      stopped_by: number of the signal that ended the training, to this worker or another; 0 for none.
    """

    def __init__(self, checkpoints: Checkpoints, every: int, tell: Callable[[str], object]) -> None:
        require(every >= 1, "--checkpoint_every", every, "must be at least 1")
        self.every = every
        self._checkpoints, self._tell = checkpoints, tell
        self._signal = self.stopped_by = 0
        self._undo: List[Callable[[], None]] = []

    def listen(self, signals: Iterable[signal.Signals] = (signal.SIGTERM, signal.SIGINT)) -> None:
        """Makes each of `signals` end the training, saved, at its next stop; a second one ends the process at once."""
        self._undo += [ending.handle_once(number, self._note) for number in signals]

    def close(self) -> None:
        """Waits until all checkpoints are on the disk, and handles signals as before.

        Raises:
          InputError: it could not be written.
        """
        for undo in self._undo:
            undo()
        self._checkpoints.wait()

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
        stop = program.agree(self._signal)
        if stop or last or step % self.every == 0:
            self._checkpoints.save(program.state())
        if stop or last:
            self._checkpoints.wait()
        if not stop:
            return False
        self._tell(f"stopped by a signal at step {step}, which is saved")
        self.stopped_by = stop
        return not last

    def _note(self, number: int) -> None:
        self._signal = number
