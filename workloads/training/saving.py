"""Training that can be stopped: when to save, what to go on from, and what to do when the machine is taken away."""

from __future__ import annotations

import signal

from workloads.support.errors import require


class Saving:
    """Saves a program's state every so many steps, at the end, and when a signal says that the machine goes away.

    With several workers all save at the same step and all go on from the step that the chief found; only the chief
    writes.

    Args:
      checkpoints: `checkpoints.Checkpoints`.
      every: steps from one checkpoint to the next.
      tell: called with a line for people.
    """

    def __init__(self, checkpoints, every, tell):
        require(every >= 1, "--checkpoint_every", every, "must be at least 1")
        self.every = every
        self._checkpoints, self._tell = checkpoints, tell
        self._signalled = False

    def listen(self, signals=(signal.SIGTERM,)):
        """From now on such a signal ends the training at its next line of output, saved."""
        for number in signals:
            signal.signal(number, self._note)

    def resume(self, program, chief=True):
        """Loads the newest usable checkpoint into `program`; returns the step it goes on from, 0 if there is none."""
        like = program.state()
        found = self._checkpoints.newest(like, self._tell) if chief else None
        step = int(program.agree(-1 if found is None else found.step))
        if step < 0:
            return like.step
        program.load(self._checkpoints.at(step, like) if found is None else found)
        self._tell(f"goes on from the checkpoint of step {step}")
        return step

    def after(self, program, step, last):
        """Saves if it is time to; returns whether to stop here because of a signal, to any of the workers."""
        stop = bool(program.agree(int(self._signalled)))
        if stop or last or step % self.every == 0:
            self._checkpoints.save(program.state())
        if stop or last:
            self._checkpoints.wait()
        if stop:
            self._tell(f"stopped by a signal at step {step}, which is saved")
        return stop and not last

    def _note(self, number, frame):
        self._signalled = True
        signal.signal(number, signal.SIG_DFL)  # a second one ends it as it is
