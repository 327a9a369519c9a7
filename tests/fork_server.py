"""Runs commands in processes that are forked from one that has imported TensorFlow, to spare each the seconds of that.

    process = fork_server.of(exact=True).run(["parity.verify", "--steps=2"], cwd, environment)

A command finds all as `python -m` leaves it: it has a process, a working folder, an environment and output of its own,
and TensorFlow counts as not imported until it imports it. `tests/test_fork_server.py` compares the two. Not for what a
process inherits from the test's own (limits, signal masks), nor for a process that the test sends signals to.
"""

from __future__ import annotations

import atexit
import functools
import importlib.abc
import importlib.machinery
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from absl import app

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

#: Bytes that a request may have.
_LONGEST = 1 << 20
#: What oneDNN's use depends on; TensorFlow reads it when it is imported.
_ONEDNN = "TF_ENABLE_ONEDNN_OPTS"


class ForkServer:
    """A process that has imported TensorFlow and forks others; it ends with this one.

    Args:
      exact: see `environment.prepare`; commands that call it with another value fail.
    """

    def __init__(self, exact: bool) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.fork_server", str(theirs.fileno()), str(int(exact))]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**kept, "PYTHONPATH": python_path()},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        atexit.register(self.close)

    def run(
        self, arguments: Sequence[str], cwd: str | os.PathLike[str], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Runs `python -m <arguments>` to its end.

        Args:
          arguments: a module and its arguments.
          cwd: working folder.
          environment: all environment variables.

        Returns:
          the finished process with its exit status, or the negative number of the signal that ended it, and its output.
        """
        request = json.dumps({"arguments": list(arguments), "cwd": os.fspath(cwd), "environment": dict(environment)})
        ends = [os.pipe(), os.pipe()]
        readers = [_Reader(reader) for reader, _ in ends]
        socket.send_fds(self._connection, [request.encode()], [writer for _, writer in ends])
        for _, writer in ends:
            os.close(writer)
        answer = self._connection.recv(_LONGEST)
        if not answer:
            raise RuntimeError("the fork server has ended")
        out, err = (reader.text() for reader in readers)
        return subprocess.CompletedProcess(list(arguments), int(answer), out, err)

    def close(self) -> None:
        """Ends the server."""
        self._connection.close()
        self._process.wait()


@functools.lru_cache(maxsize=None)
def of(exact: bool) -> ForkServer:
    """Returns this process's server for exact runs, or for others; it is started at its first use."""
    return ForkServer(exact)


def python_path() -> str:
    """Returns the value of PYTHONPATH with which a process finds this project as if it were installed."""
    return os.pathsep.join([ROOT, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])


class _Reader(threading.Thread):
    """Reads from a descriptor to its end."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(daemon=True)
        self._file = os.fdopen(descriptor, encoding="utf-8")
        self._text = ""
        self.start()

    def run(self) -> None:
        with self._file:
            self._text = self._file.read()

    def text(self) -> str:
        """Waits for the end and returns all that came."""
        self.join()
        return self._text


class _ImportedBefore(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds a module that was imported before and has been taken out of `sys.modules` since.

    Args:
      module: the module.
      callbacks: functions that it gave to `app.call_after_init`.
    """

    def __init__(self, module: types.ModuleType, callbacks: Sequence[Callable[[], object]]) -> None:
        self._module, self._spec, self._onednn = module, module.__spec__, os.environ.get(_ONEDNN)
        self._callbacks = callbacks

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self) if name == self._module.__name__ else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return self._module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self._spec
        for callback in self._callbacks:
            app.call_after_init(callback)
        found = os.environ.get(_ONEDNN)
        assert found == self._onednn, f"{_ONEDNN} is {found} here, and was {self._onednn} at the import: see `exact`"


def _serve(connection: socket.socket, exact: bool) -> None:
    """Imports TensorFlow and answers requests with exit statuses, until the other end is closed."""
    _import_tensorflow(exact)
    while True:
        request, descriptors, _, _ = socket.recv_fds(connection, _LONGEST, 2)
        if not request:
            return
        child = os.fork()
        if not child:
            connection.close()
            _be_command(descriptors, **json.loads(request))
        for descriptor in descriptors:
            os.close(descriptor)
        connection.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _import_tensorflow(exact: bool) -> None:
    """Imports TensorFlow as `environment.prepare` does, and forgets it, and this project's modules, again."""
    from workloads.support.machine import environment

    environment.end_with_parent(os.getppid())
    environment.set_variables(exact)
    with environment.importing_tensorflow():
        import tensorflow
    callbacks = list(app._init_callbacks)
    app._init_callbacks.clear()
    sys.meta_path.insert(0, _ImportedBefore(sys.modules.pop(tensorflow.__name__), callbacks))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("workloads", "tests")]:
        del sys.modules[name]


def _be_command(
    descriptors: Sequence[int], arguments: Sequence[str], cwd: str, environment: Mapping[str, str]
) -> NoReturn:
    """Goes on as `python -m <arguments>` whose output goes to `descriptors`."""
    status = 1
    try:
        for number, descriptor in enumerate(descriptors, 1):
            os.dup2(descriptor, number)
            os.close(descriptor)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(cwd)
        sys.path[0] = os.getcwd()
        sys.argv[:] = arguments
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2] == "1")
