"""The end of a run on several machines: no worker leaves while another still needs it.

A collective is no barrier for leaving: a worker whose part is complete may go while another still receives from it, and
that one takes it for lost. So each worker first tells the coordination service that it has all its results and waits
until the others have said so too; then all leave, and the worker that hosts the service leaves last.
"""

from __future__ import annotations

import contextlib
from typing import Protocol

import tensorflow as tf
from tensorflow.python.eager import context

from modern.collectives.worker import Worker

#: Seconds to wait for another worker. One that fails only now has done its part already.
PATIENCE = 30.0


class Board(Protocol):
    """Key/value store that all workers share, such as TensorFlow's context."""

    def set_config_key_value(self, key: str, value: str) -> None:
        """Stores a value, once."""

    def get_config_key_value(self, key: str, timeout_in_ms: int) -> str:
        """Returns a value, and waits until there is one."""


def leave_together(worker: Worker, board: Board | None = None) -> None:
    """Returns when this worker, whose results are complete, may end its process.

    Errors here are ignored: a worker that is gone by now has already delivered all its results.

    Args:
      worker: this process's place in the cluster.
      board: the workers' key/value store; None for the coordination service of this process's TensorFlow.
    """
    board = context.context() if board is None else board
    with contextlib.suppress(tf.errors.OpError, RuntimeError):
        _tell(board, "done", worker.index)
        _wait_for_all(board, "done", worker)
        _tell(board, "left", worker.index)
        if worker.chief:  # hosts the service
            _wait_for_all(board, "left", worker)


def _tell(board: Board, what: str, index: int) -> None:
    board.set_config_key_value(_key(what, index), "1")


def _wait_for_all(board: Board, what: str, worker: Worker) -> None:
    for index in range(worker.count):
        board.get_config_key_value(_key(what, index), int(1000 * PATIENCE))


def _key(what: str, index: int) -> str:
    return f"tower_parity/{what}/{index}"
