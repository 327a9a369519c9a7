"""End of a command's process: prompt at its last line, at an error, at Ctrl-C and at SIGTERM, wherever it is.

An interpreter that is being finalized lets no other thread run Python code again. TensorFlow's input iterators are
destroyed at that time and wait for their threads, which may be inside the Python code that makes a batch: neither ever
ends. So a command does not leave its end to the interpreter: `end_process` writes the output, runs the exit functions
and ends the process, whatever its threads do. And Python handles a signal only between two of its own instructions; in
a long call of TensorFlow, or one that never returns, `watch_signals` ends the process after `GRACE` seconds.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, NoReturn, Set

from workloads.support import unfinished

if TYPE_CHECKING:
    from types import FrameType

#: Exit statuses, as a shell gives them for the signals SIGINT, SIGPIPE and SIGTERM.
INTERRUPTED, BROKEN_PIPE, TERMINATED = 128 + 2, 128 + 13, 128 + 15

#: Seconds from a signal to the end of the process, and seconds that exit functions may take.
GRACE = 3.0

#: The line that is printed for each signal.
LINES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

_deferred: Set[int] = set()


class Terminated(BaseException):
    """SIGTERM, raised as Python raises `KeyboardInterrupt` for SIGINT, so that `with` and `finally` clean up."""


def end_process(status: int) -> NoReturn:
    """Ends this process with `status`: its output is written and exit functions have run; threads are not waited for."""
    _handle_signals_by(signal.SIG_DFL)  # whoever reads the output may never read on
    status = _flush(status)
    _handle_signals_by(signal.SIG_IGN)
    _end_now(status)


def watch_signals() -> None:
    """Makes SIGTERM raise `Terminated`, and makes it and Ctrl-C end a process that does not come to handle them."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_forget_pipe)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()


def defer_signal(number: int) -> None:
    """Lets the next signal `number` take as long as it needs: its handler ends the work in good order."""
    _deferred.add(number)


def _watch(reader: int) -> None:
    """Ends the process `GRACE` seconds after a signal that is not deferred."""
    while True:
        number = os.read(reader, 1)[0]
        if number in _deferred:
            _deferred.discard(number)
        elif number in (signal.SIGINT, signal.SIGTERM):
            time.sleep(GRACE)
            os.write(2, (LINES[signal.Signals(number)] + "\n").encode())
            _end_now(128 + number)


def _end_now(status: int) -> NoReturn:
    """Runs the exit functions, for `GRACE` seconds at most, and ends the process."""
    limit = threading.Timer(GRACE, os._exit, (status,))
    limit.daemon = True
    limit.start()
    unfinished.remove_all()
    atexit._run_exitfuncs()
    _flush(status)
    os._exit(status)


def _flush(status: int) -> int:
    """Writes the output that is still buffered; returns the exit status, another one if it cannot be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            status = BROKEN_PIPE
        except (AttributeError, ValueError):  # there is none, or it is closed
            pass
        except OSError as error:
            status = status or 2
            if stream is sys.stdout:
                os.write(2, f"error: standard output: cannot write: {error.strerror}\n".encode())
    return status


def _handle_signals_by(handler: signal.Handlers) -> None:
    if threading.current_thread() is threading.main_thread():
        for number in LINES:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, handler)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def _forget_pipe() -> None:
    """In a forked process, whose signals are not this one's."""
    if threading.current_thread() is threading.main_thread():
        signal.set_wakeup_fd(-1)
