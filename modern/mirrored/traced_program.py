"""What programs whose steps are traced functions have in common."""

from __future__ import annotations

from workloads.program import Program


class TracedProgram(Program):
    """Base of the port's programs. A subclass makes `_variables` (`MirroredState`), `_input` and `_step`.

    Its functions capture the input, since looking distributed values up by type at every call takes longer than a
    small model's step; so they are made again when the input starts anew.
    """

    side = "modern"
    #: The open input; the functions that read it: one observed step, and many steps.
    _batches = _observed = _many = None

    def load(self, state):
        self._variables.load(state)
        if state.step != self._step:
            self._step, self._batches = state.step, None

    def state(self):
        return self._variables.read()[0]

    def close(self):
        """Lets go of the input and of the functions that read it."""
        self._batches = self._observed = self._many = None
