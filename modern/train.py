"""`python -m modern.train --workload=cifar_cnn --replicas=2 --steps=200`: train under a tf.distribute strategy.

On several machines, start it on each with TF_CONFIG set, or as a SLURM job, and --strategy=multi_worker. With --workers
and no such environment, the workers are started on this machine; so are --parameter_servers. With --checkpoint_dir a
run goes on from where it was stopped, with the bits of a run that never was.
"""

from __future__ import annotations

import os
import signal
import sys

from absl import flags

from modern import flags as modern_flags
from workloads.selection import flags as job_flags
from workloads.support import command, environment
from workloads.support.errors import Lost, require
from workloads.training import flags as training_flags

FLAGS = flags.FLAGS


def check_flags():
    """Raises `InputError` for what can be refused before TensorFlow is started."""
    training_flags.check_flags()
    modern_flags.check_strategy()
    require(
        FLAGS.workers == 1 or FLAGS.strategy != "mirrored",
        "--workers",
        FLAGS.workers,
        "--strategy=mirrored has one; several need --strategy=multi_worker or parameter_server",
    )


def in_cluster():
    """Whether the environment says that this process is one of several workers."""
    return bool(os.environ.get("TF_CONFIG")) or "SLURM_PROCID" in os.environ


def train_alone():
    """Trains in this process."""
    job, make_source = job_flags.job_from_flags()
    devices = job_flags.devices_from_flags(job)
    with modern_flags.program_from_flags(job, make_source(job), devices, exact=False) as program:
        return training_flags.train_from_flags(program, job)


def train_as_worker():
    """Trains as the worker that the environment says.

    Raises:
      Lost: another worker, or the way to it, is gone.
    """
    import tensorflow as tf

    from modern.multi_worker import cluster_config

    worker = cluster_config.worker_from_environment()
    job, make_source = job_flags.job_from_flags(workers=worker.count)
    devices = job_flags.devices_from_flags(job, worker.count)
    try:
        program = modern_flags.program_from_flags(job, make_source(job), devices, False, worker)
        status = training_flags.train_from_flags(program, job, worker.chief)
        if status == 0:
            program.agree(0)  # nobody leaves while another still needs an answer
        return status
    except tf.errors.OpError as error:
        raise Lost(cluster_config.lost_worker_message(worker, error))


def start_workers():
    """Starts the workers on this machine and waits for them; their exit status."""
    from modern.multi_worker import cluster_config
    from workloads.support import addresses, child_processes

    places, workers = addresses.free(FLAGS.workers), []
    try:
        for index in range(FLAGS.workers):
            name, variables = f"worker {index}", {"TF_CONFIG": cluster_config.tf_config_text(places, index)}
            workers.append(child_processes.Child(name, _worker, (sys.argv,), variables=variables))
        signal.signal(signal.SIGTERM, lambda *unused: [os.kill(worker.pid, signal.SIGTERM) for worker in workers])
        return max(child_processes.receive_from_all(workers))
    except Lost as error:
        again = "; start again to go on from the last checkpoint" if FLAGS.checkpoint_dir else ""
        raise Lost(f"{error}; the others were stopped{again}")
    finally:
        child_processes.stop_all(workers)


def train_by_servers():
    """Trains as the coordinator of workers and parameter servers; or is one of these, where `TF_CONFIG` says so."""
    from modern.multi_worker import cluster_config, local_servers

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
        return _coordinate(local_servers.coordinator_resolver(started.cluster))


def end_with(work):
    """Does `work` and ends the process: a coordinator's threads would wait for servers that are gone."""
    status = command.status_of(work)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _coordinate(resolver):
    import tensorflow as tf

    from modern.multi_worker import cluster_config
    from modern.multi_worker.parameter_server_program import ParameterServerProgram

    workers = len(resolver.cluster_spec().as_dict()["worker"])
    job, make_source = job_flags.job_from_flags(workers=workers, replicas=1)
    options = modern_flags.options_from_flags(exact=False)
    try:
        with ParameterServerProgram(job, make_source(job), options, resolver) as program:
            status = training_flags.train_from_flags(program, job)
            if status == 0:
                print(program.staleness_line())
            return status
    except tf.errors.UnavailableError as error:  # a worker that is lost is missed by nobody
        raise Lost(f"a parameter server was lost ({cluster_config.connection_failure(error)})")


def _worker(speaker, argv):
    FLAGS(argv)
    speaker.say(train_as_worker())


def main():
    check_flags()
    if FLAGS.strategy == "multi_worker" and not in_cluster():
        return start_workers()
    if FLAGS.strategy == "parameter_server":
        end_with(train_by_servers)
    environment.prepare(exact=False)
    return train_as_worker() if FLAGS.strategy == "multi_worker" else train_alone()


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
