"""Processes that share long work: each with its own TensorFlow, made for exact runs, and gone when it ends."""

from __future__ import annotations

import multiprocessing
import multiprocessing.util
import os

from workloads.support import environment


def pool(processes, tasks_per_process):
    """A `multiprocessing.Pool`, a context manager; a process ends after so many tasks.

    TensorFlow keeps what sessions and functions took, so a process must end now and then.
    """
    context = multiprocessing.get_context("spawn")
    return context.Pool(processes, _prepare, maxtasksperchild=tasks_per_process)


def manager():
    """A `multiprocessing` manager, for queues that tasks write to."""
    return multiprocessing.get_context("spawn").Manager()


def _prepare():
    environment.prepare(exact=True)
    # At its end the process just ends: TensorFlow would wait for each of the hundreds of iterators that were made.
    multiprocessing.util.Finalize(None, os._exit, (0,), exitpriority=100)
