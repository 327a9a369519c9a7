"""Threads within ops: how many of the processor's cores the kernels of one replica may use.

By default TensorFlow lets every kernel use all cores. Where replicas are logical devices of one CPU, the kernels of all
of them run at the same time, and each waits for threads that are busy with another's.
"""

from __future__ import annotations

import contextlib
import os

#: Environment variable that TensorFlow takes the number from; the user's number is left alone.
VARIABLE = "TF_NUM_INTRAOP_THREADS"


def cores() -> int:
    """Returns the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_of_cores(replicas: int) -> int:
    """Returns how many cores each of some replicas on this CPU has, at least 1.

    Args:
      replicas: number of replicas that run at the same time.

    Returns:
      the number; 0, which leaves it to TensorFlow, for one replica or where `VARIABLE` is set.
    """
    return 0 if replicas == 1 or VARIABLE in os.environ else max(1, cores() // replicas)


def set_within_ops(count: int) -> None:
    """Sets the number of threads within each op; nothing for 0, or once TensorFlow runs: it is a process's for good."""
    import tensorflow as tf

    if count:
        with contextlib.suppress(RuntimeError):
            tf.config.threading.set_intra_op_parallelism_threads(count)
