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
from collections.abc import Callable
from typing import TYPE_CHECKING, Dict, List, NoReturn, Optional

from workloads.support.files import unfinished

if TYPE_CHECKING:
    from types import FrameType

#: Exit statuses, as a shell gives them for the signals SIGINT, SIGPIPE and SIGTERM.
INTERRUPTED, BROKEN_PIPE, TERMINATED = 128 + 2, 128 + 13, 128 + 15

#: Exit status of a defect of this project (EX_SOFTWARE), so that its traceback is never taken for a failed check.
DEFECT = 70

#: Seconds from a signal to the end of the process, and seconds that exit functions may take.
GRACE = 3.0

#: The line that is printed for each signal.
LINES = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}

#: Seconds in which a signal that comes again counts as the same.
REPEAT = 1.0

#: Signals that have raised `KeyboardInterrupt` or `Terminated`.
_raised: List[int] = []

#: {signal: time of the first one, or None} of those that `handle_once` handles.
_deferred: Dict[int, Optional[float]] = {}


class Terminated(BaseException):
    """SIGTERM, raised as Python raises `KeyboardInterrupt` for SIGINT, so that `with` and `finally` clean up."""


def end_process(status: int) -> NoReturn:
    """Ends this process with `status`: writes its output, runs exit functions, and waits for no thread."""
    _handle_signals_by(signal.SIG_DFL)  # whoever reads the output may never read on
    status = _flush(status)
    _handle_signals_by(signal.SIG_IGN)
    _end_now(status)


def watch_signals() -> None:
    """Makes SIGTERM raise `Terminated`, and makes it and Ctrl-C end a process that does not come to handle them."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _terminate)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=_forget_pipe)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()


def signal_status() -> Optional[int]:
    """Returns the exit status for the signal that is to end this process; None if none has come.

    TensorFlow turns an exception that a signal raises inside its own calls into another one, whose message says nothing
    of the signal: whatever ends the work after a signal is the signal's doing.
    """
    return 128 + _raised[0] if _raised else None


def exception_for(number: int) -> BaseException:
    """Returns the exception that `SIGINT` or `SIGTERM` raises where nothing else handles it."""
    return KeyboardInterrupt() if number == signal.SIGINT else Terminated()


def handle_once(number: signal.Signals, handler: Callable[[int], object]) -> Callable[[], None]:
    """Calls `handler(number)` at the next signal of that number, which may take as long as it needs to end the work.

    The next one after that has the effect that it would have had; not one within `REPEAT` seconds, as Ctrl-C reaches a
    process twice where a parent, such as `timeout`, passes it on. A signal that the process ignores stays ignored.

    Args:
      number: of the signal.
      handler: called in the main thread.

    Returns:
      function that undoes this.
    """
    before = signal.getsignal(number)
    if before == signal.SIG_IGN:
        return lambda: None
    first: List[float] = []

    def undo() -> None:
        _deferred.pop(number, None)
        signal.signal(number, before)

    def handle(received: int, frame: FrameType | None) -> None:
        if not first:
            first.append(time.monotonic())
            if not callable(before):
                signal.signal(number, before)
            handler(received)
        elif callable(before) and time.monotonic() > first[0] + REPEAT:
            signal.signal(number, before)
            before(received, frame)

    _deferred[number] = None
    signal.signal(number, handle)
    return undo


def _watch(reader: int) -> None:
    """Ends the process `GRACE` seconds after a signal that is not deferred."""
    while True:
        number = os.read(reader, 1)[0]
        if number in LINES and not _is_deferred(number):
            time.sleep(GRACE)
            os.write(2, (LINES[signal.Signals(number)] + "\n").encode())
            _end_now(128 + number)


def _is_deferred(number: int) -> bool:
    """Whether a signal that has just come is the first one of those that `handle_once` handles, or its repetition."""
    if number not in _deferred:
        return False
    now = time.monotonic()
    first = _deferred[number] = _deferred[number] or now
    return now <= first + REPEAT


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
        except (AttributeError, ValueError):  # there is none, or it is closed
            pass
        except OSError as error:
            if stream is sys.stdout and not status:
                status = BROKEN_PIPE if isinstance(error, BrokenPipeError) else 2
                if status == 2:
                    os.write(2, f"error: cannot write the output: {error.strerror}\n".encode())
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # for what is still in its buffer
    return status


def _handle_signals_by(handler: signal.Handlers) -> None:
    if threading.current_thread() is threading.main_thread():
        for number in LINES:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _raised.append(number)
    raise KeyboardInterrupt


def _terminate(number: int, frame: FrameType | None) -> None:
    _raised.append(number)
    raise Terminated


def _forget_pipe() -> None:
    """In a forked process, whose signals are not this one's."""
    if threading.current_thread() is threading.main_thread():
        signal.set_wakeup_fd(-1)
