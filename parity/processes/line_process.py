"""A program of the user's that answers lines on its standard input with lines on its standard output."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping

from workloads.support.errors import require
from workloads.support.processes import interrupts

#: Seconds that a program is given to end by itself.
GRACE = 2.0

#: Seconds between two looks at a program that is ending.
LOOK = 0.01

#: Bytes that a line may have.
LONGEST_LINE = 65536

#: Becomes the program, and asks the system to end it with its parent before that; arguments: parent, program.
START = (
    "import os, sys\n"
    "parent, path = int(sys.argv[1]), sys.argv[2]\n"
    "if sys.platform == 'linux':\n"
    "    import ctypes\n"
    "    ctypes.CDLL(None).prctl(1, 9)\n"
    "    if os.getppid() != parent:\n"
    "        os._exit(1)\n"
    "try:\n"
    "    os.execv(path, [path])\n"
    "except OSError as error:\n"
    "    sys.exit(f'cannot be run: {error.strerror}')\n"
)


def check_executable(argument: str, path: str) -> None:
    """Raises `InputError`, which names `argument`, unless `path` is a file that can be executed."""
    require(os.path.exists(path), argument, path, "no such file")
    require(os.path.isfile(path), argument, path, "must be a file")
    require(os.access(path, os.X_OK), argument, path, f"must be executable (chmod +x {path})")


class LineError(Exception):
    """The program ended, said nothing, or said too much; the message says which."""


class LineProcess:
    """A running program. It ends when it is stopped, and when this process ends, however that happens (on Linux).

    Args:
      path: an executable file.
      variables: {environment variable: text} that it gets besides this process's.
    """

    def __init__(self, path: str, variables: Mapping[str, str]) -> None:
        self._errors = tempfile.TemporaryFile()
        with interrupts.without_ctrl_c():
            self._process = subprocess.Popen(
                [sys.executable, "-S", "-E", "-c", START, str(os.getpid()), os.path.abspath(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, **variables},
                bufsize=0,
                start_new_session=True,  # so that all its own processes can be ended
            )
        self._rest = b""

    def ask(self, line: str, seconds: float) -> str:
        """Sends a line and returns the next line of the program.

        Args:
          line: without its end.
          seconds: to wait for the answer.

        Returns:
          the answer, without its end.

        Raises:
          LineError: there is none.
        """
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(line.encode() + b"\n")
        except OSError:
            raise LineError(self._end())
        return self._read_line(time.monotonic() + seconds, seconds)

    def _read_line(self, until: float, seconds: float) -> str:
        stdout = self._process.stdout
        assert stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if len(self._rest) > LONGEST_LINE:
                    raise LineError(f"sent more than {LONGEST_LINE} bytes without an end of line")
                if not selector.select(max(0.0, until - time.monotonic())):
                    raise LineError(f"did not answer within {seconds:g} s")
                received = os.read(stdout.fileno(), LONGEST_LINE)
                if not received:
                    raise LineError(self._end())
                self._rest += received
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace").strip()

    def _end(self) -> str:
        """Describes how the program ended, with the last line that it wrote to stderr."""
        ended = self._ended_within(GRACE)
        if ended is None:
            return "closed its output"
        by_signal = ended.si_code != os.CLD_EXITED
        how = f"ended by signal {ended.si_status}" if by_signal else f"ended with status {ended.si_status}"
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - LONGEST_LINE))
        said = " ".join(self._errors.read().decode(errors="replace").strip().rpartition("\n")[2].split())
        return f"{how}: {said[:200]}" if said else how

    def _ended_within(self, seconds: float) -> os.waitid_result | None:
        """The end of the program, whose number stays its own until it is waited for; None: it still runs."""
        until = time.monotonic() + seconds
        while True:
            ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None or time.monotonic() > until:
                return ended
            time.sleep(LOOK)

    def stop(self, farewell: str = "") -> None:
        """Ends the program: a last line, the end of its input, and SIGKILL for it and all that it has started."""
        if self._process.returncode is not None:
            return
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        with contextlib.suppress(OSError):
            if farewell:
                stdin.write(farewell.encode() + b"\n")
        stdin.close()
        self._ended_within(GRACE)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        stdout.close()
        self._errors.close()
