"""`Interruption`: Ctrl-C that ends work early and keeps what was measured; a second one ends the command at once."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator

from workloads.support.processes import ending


class Interruption:
    """Whether Ctrl-C has asked for an early end; before `keep_results` it ends the command as ever.

    Attributes:
      asked: Ctrl-C has come.
    """

    def __init__(self) -> None:
        self.asked = False
        self._raises = False
        self._undo: Callable[[], None] | None = None

    def keep_results(self, raises: bool = False) -> None:
        """From now on Ctrl-C only sets `asked`: there are results, which are worth a report.

        Args:
          raises: it also raises `KeyboardInterrupt`, for work that does not look at `asked`.
        """
        self._raises = raises
        if self._undo is None:
            self._undo = ending.handle_once(signal.SIGINT, self._ask)

    def close(self) -> None:
        """Makes Ctrl-C end the command again."""
        if self._undo is not None:
            self._undo()

    def _ask(self, number: int) -> None:
        self.asked = True
        if self._raises:
            raise KeyboardInterrupt


@contextlib.contextmanager
def interruptible() -> Iterator[Interruption]:
    """Context of work that can end early."""
    interruption = Interruption()
    try:
        yield interruption
    finally:
        interruption.close()
