"""Training as one of several workers, each a process that `TF_CONFIG` or SLURM gives its place in the cluster."""

from __future__ import annotations

import os

from absl import flags

from modern import flags as modern_flags
from workloads.selection import flags as job_flags
from workloads.support.errors import Lost
from workloads.support.user import user_code
from workloads.training import flags as training_flags

FLAGS = flags.FLAGS


def in_cluster() -> bool:
    """Returns whether the environment says that this process is one of several workers."""
    return bool(os.environ.get("TF_CONFIG")) or "SLURM_PROCID" in os.environ


def resume_hint() -> str:
    """Returns the end of a message about lost workers: that another start resumes; "" without checkpoints."""
    return "; start again to go on from the last checkpoint" if FLAGS.checkpoint_dir else ""


def train_as_worker() -> int:
    """Trains as the worker that the environment says and returns the exit status.

    Raises:
      Lost: another worker, or the way to it, is gone.
      tf.errors.OpError: an op failed that the user's own code made.
    """
    import tensorflow as tf

    from modern.multi_worker import cluster_config

    worker = cluster_config.worker_from_environment()
    job, make_source = job_flags.job_from_flags(workers=worker.count)
    devices = job_flags.devices_from_flags(job, worker.count)
    source = make_source(job)
    try:
        program = modern_flags.program_from_flags(job, source, devices, False, worker)
        return training_flags.train_from_flags(program, job, source, worker.chief, worker.count)
    except tf.errors.OpError as error:
        if user_code.reported_error(error) is not None:
            raise
        raise Lost(cluster_config.lost_worker_message(worker, error))


def train_as_machine() -> int:
    """Trains as one of the workers that were started one by one, and leaves when all have done their part."""
    from modern.multi_worker import cluster_config, departure

    status = train_as_worker()
    departure.leave_together(cluster_config.worker_from_environment())
    return status
