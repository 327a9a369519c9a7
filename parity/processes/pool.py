"""Pool of processes that share long work, each with its own TensorFlow that is prepared for exact runs."""

from __future__ import annotations

import multiprocessing
import multiprocessing.managers
import multiprocessing.pool
import multiprocessing.util
import os
import threading

from workloads.support.machine import environment
from workloads.support.processes import interrupts


def process_pool(processes: int, tasks_per_process: int) -> multiprocessing.pool.Pool:
    """Returns a pool, which is a context manager; a process is replaced after a number of tasks.

    TensorFlow keeps the memory that sessions and functions took, so a process must end now and then.
    """
    context = multiprocessing.get_context("spawn")
    with interrupts.without_ctrl_c():
        return context.Pool(processes, _prepare, maxtasksperchild=tasks_per_process)


def queue_manager() -> multiprocessing.managers.SyncManager:
    """Returns a manager, for queues that tasks write to; it is a context manager."""
    with interrupts.without_ctrl_c():
        return multiprocessing.get_context("spawn").Manager()


def _prepare() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    environment.prepare(exact=True)
    # At its end the process just ends: TensorFlow would wait for each of the hundreds of iterators that were made.
    multiprocessing.util.Finalize(None, os._exit, (0,), exitpriority=100)


def _end_with_parent() -> None:
    """Ends this process when its parent has ended, in the middle of a task too.

    The system's own signal for that (`PR_SET_PDEATHSIG`) comes when the *thread* that started the process ends. A
    pool's threads end before its processes do, and a process that is killed while it waits for a task keeps the lock of
    the queue of tasks: the pool would wait for that lock for ever.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
