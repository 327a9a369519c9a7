"""Processes that a command starts: each is gone when the command ends, however it ends.

A child holds one end of a pipe whose other end only its parent has. When the parent ends, even by SIGKILL, the system
closes that end, and the child's watching thread ends the child.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import threading
import time
import traceback

from workloads.support import environment, errors

#: Seconds that a child is given to end by itself.
GRACE = 5.0


class Child:
    """A new interpreter that runs `target(connection, *arguments)`.

    Args:
      name: what messages call it, e.g. "worker 1".
      target: a function of a module.
      arguments: picklable; unpickled when the child's TensorFlow is ready, which they may need.
      exact: see `environment.prepare`, which the child begins with.
      variables: {environment variable: text} to set before that.
    """

    def __init__(self, name, target, arguments=(), exact=False, variables=None):
        self.name = name
        context = multiprocessing.get_context("spawn")
        self._lifeline, lifeline = context.Pipe()
        self._connection, connection = context.Pipe()
        work = pickle.dumps((target, tuple(arguments)))
        self._process = context.Process(
            target=_run, args=(lifeline, connection, work, exact, dict(variables or {})), name=name, daemon=True
        )
        self._process.start()
        lifeline.close()
        connection.close()  # so that a child that ends is an end of file here

    @property
    def pid(self):
        """Its process number."""
        return self._process.pid

    @property
    def alive(self):
        """Whether it still runs."""
        return self._process.is_alive()

    def send(self, message):
        """Hands `message` to the child.

        Raises:
          Lost: it has ended.
        """
        try:
            self._connection.send(message)
        except OSError:
            raise self._lost()

    def receive(self, timeout=None):
        """The child's next message.

        Raises:
          Lost: it ended, failed, or said nothing for `timeout` seconds.
          InputError: it refused its input.
        """
        try:
            if not self._connection.poll(timeout):
                raise errors.Lost(f"{self.name} said nothing for {timeout:.0f} s")
            kind, content = self._connection.recv()
        except (EOFError, OSError):
            raise self._lost()
        if kind == "refused":
            raise errors.InputError(content)
        if kind == "failed":
            raise errors.Lost(f"{self.name} failed: {content}")
        return content

    def stop(self, grace=GRACE):
        """Ends it: by closing its connection, and by SIGKILL if that is not enough."""
        self._connection.close()
        self._process.join(grace)
        self.kill()

    def kill(self):
        """Ends it by SIGKILL."""
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._lifeline.close()

    def _lost(self):
        self._process.join(GRACE)
        code = self._process.exitcode
        how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
        return errors.Lost(f"{self.name} (process {self.pid}) ended {how}")


class Speaker:
    """The child's end of the connection, as its target sees it."""

    def __init__(self, connection):
        self._connection = connection

    def say(self, message):
        """Hands `message` to the parent's `receive`."""
        self._connection.send(("said", message))

    def listen(self):
        """The parent's next message; None when there will be no more."""
        try:
            return self._connection.recv()
        except (EOFError, OSError):
            return None


def receive_from_all(children):
    """The next message of each, in order; waits for all.

    Raises:
      Lost: one ended or failed. One that was killed is named before those that failed because of it.
    """
    messages, waiting = {}, {child._connection: child for child in children}
    while waiting:
        for ready in multiprocessing.connection.wait(list(waiting)):
            child = waiting.pop(ready)
            try:
                messages[child.name] = child.receive()
            except errors.Lost as lost:
                raise _first_cause(children, lost)
    return [messages[child.name] for child in children]


def _first_cause(children, lost):
    """The loss of a child that a signal ended, if there is one, or else `lost`."""
    for child in children:
        child._process.join(0.2)
        if (child._process.exitcode or 0) < 0:
            return child._lost()
    return lost


def stop_all(children):
    """Ends all of `children`, together and not one after the other, in `GRACE` seconds at most."""
    children, end = list(children), time.monotonic() + GRACE
    for child in children:
        child._connection.close()
    for child in children:
        child.stop(max(0.0, end - time.monotonic()))


def _run(lifeline, connection, work, exact, variables):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    os.environ.update(variables)
    try:
        environment.prepare(exact)
        target, arguments = pickle.loads(work)
        target(Speaker(connection), *arguments)
    except errors.InputError as error:
        _tell(connection, "refused", str(error))
    except BaseException as error:
        lines = traceback.format_exception_only(type(error), error)
        _tell(connection, "failed", " ".join("".join(lines).split()))
    # TensorFlow's servers and collectives cannot be closed; a process can.
    os._exit(0)


def _tell(connection, kind, text):
    try:
        connection.send((kind, text))
    except OSError:  # the parent is gone
        pass


def _end_with(lifeline):
    try:
        lifeline.recv()
    except (EOFError, OSError):
        os._exit(1)
