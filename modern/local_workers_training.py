"""Training by several workers that are started on this machine, each a child process of the command."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from absl import flags

from modern.multi_worker import cluster_config
from modern.worker_training import resume_hint
from workloads.support.errors import Lost
from workloads.support.processes import addresses, child_processes, ending

if TYPE_CHECKING:
    from workloads.support.processes.child_side import Speaker

FLAGS = flags.FLAGS


class SignalForwarder:
    """Forwards the first signal of each kind to the workers, which save a checkpoint and end.

    Ctrl-C is forwarded only where there are checkpoints: elsewhere it ends the run at once.

    Args:
      workers: those that run; others may be added later.

    Attributes:
      received: number of the signal that ends the run; None if none has come.
    """

    def __init__(self, workers: Sequence[child_processes.Child]) -> None:
        self._workers = workers
        self.received: int | None = None
        numbers = [signal.SIGTERM, *([signal.SIGINT] if FLAGS.checkpoint_dir else [])]
        self._undo = [ending.handle_once(number, self._forward) for number in numbers]

    def close(self) -> None:
        """Handles signals as before."""
        for undo in self._undo:
            undo()

    def _forward(self, number: int) -> None:
        if self.received is None:
            self.received = number
        for worker in self._workers:
            if worker.pid is not None:
                os.kill(worker.pid, signal.SIGTERM)  # they ignore Ctrl-C, which is for this process to act on


def train_on_local_workers(target: Callable[[Speaker, list[str]], None]) -> int:
    """Starts the workers on this machine, waits for them and returns their exit status.

    Args:
      target: runs in each child process on its connection to this one and on the command line. Its module must define
        the flags of the command.

    Returns:
      The workers' status; 128 plus the number of a signal that ended the run.

    Raises:
      Lost: a worker was lost; the others were stopped.
    """
    places = addresses.free_addresses(FLAGS.workers)
    workers: list[child_processes.Child] = []
    grace = 0.0
    forwarder = SignalForwarder(workers)
    try:
        for index in range(FLAGS.workers):
            variables = {"TF_CONFIG": cluster_config.tf_config_text(places, index)}
            workers.append(
                child_processes.Child(f"worker {index}", target, (sys.argv,), variables=variables, quiet=True)
            )
        status = max(child_processes.receive_from_all(workers))
        grace = child_processes.GRACE
        return 128 + forwarder.received if forwarder.received and status else status
    except Lost as error:
        if forwarder.received:  # before all workers had saved
            raise ending.exception_for(forwarder.received)
        raise Lost(f"{error}; the others were stopped{resume_hint()}")
    finally:
        forwarder.close()
        child_processes.stop_all(workers[1:], grace)
        child_processes.stop_all(workers[:1], grace)  # last, since it hosts the service that connects them
