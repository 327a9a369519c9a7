"""Training with parameter servers: as their coordinator, or as one of the servers that `TF_CONFIG` names."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from absl import flags

from modern import flags as modern_flags
from modern.multi_worker import cluster_config, local_servers
from modern.worker_training import resume_hint
from workloads.selection import flags as job_flags
from workloads.support.errors import Lost
from workloads.support.machine import environment
from workloads.support.processes import ending
from workloads.support.user import user_code
from workloads.training import flags as training_flags

if TYPE_CHECKING:
    import tensorflow as tf

FLAGS = flags.FLAGS


def train_with_parameter_servers() -> int:
    """Trains as the coordinator of workers and parameter servers, or serves as one of them if `TF_CONFIG` says so."""
    task = cluster_config.task_from_environment(("chief", "worker", "ps"))
    if task is not None and task.job != "chief":
        environment.prepare(exact=True)  # see `LocalServers`
        local_servers.serve_task(task.cluster, task.job, task.index)
    if task is not None:
        environment.prepare(exact=False)
        import tensorflow as tf

        return _coordinate(tf.distribute.cluster_resolver.TFConfigClusterResolver())
    with local_servers.LocalServers(FLAGS.workers, FLAGS.parameter_servers) as started:
        environment.prepare(exact=False)
        started.watch_workers(_end_without_workers)
        return _coordinate(local_servers.coordinator_resolver(started.cluster), started)


def _end_without_workers() -> None:
    """Ends this process, which waits inside of TensorFlow for a worker."""
    os.write(2, f"error: all workers were lost{resume_hint()}\n".encode())
    ending.end_process(1)


def _coordinate(
    resolver: tf.distribute.cluster_resolver.ClusterResolver, started: local_servers.LocalServers | None = None
) -> int:
    """Trains on the servers that `resolver` knows, `started` on this machine or by others; returns the exit status."""
    import tensorflow as tf

    from modern.multi_worker.parameter_server_program import ParameterServerProgram
    from workloads.training import loop

    workers = len(resolver.cluster_spec().as_dict()["worker"])
    job, make_source = job_flags.job_from_flags(workers=workers, replicas=1)
    options, source = modern_flags.options_from_flags(exact=False), make_source(job)
    try:
        with ParameterServerProgram(job, source, options, resolver, started) as program:
            status = training_flags.train_from_flags(program, job, source)
            if status == 0:
                loop.Output(program.side, FLAGS.json_lines).write_note(program.staleness_line())
            return status
    except tf.errors.UnavailableError as error:  # the loss of a worker is handled by TensorFlow
        raise Lost(f"a parameter server was lost ({cluster_config.connection_failure(error)})")
    except Exception as error:
        failure = user_code.detached_error(error)
        if failure is None:
            raise
    # Here no frame keeps functions alive that could not be removed from servers that are gone by then.
    logging.getLogger("tensorflow").setLevel(logging.CRITICAL)  # it logs many lines about servers that are ended
    raise failure
