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
from workloads import environment, train_main
from workloads import flags as job_flags
from workloads.errors import Lost, require, run_main, status_of

FLAGS = flags.FLAGS


def check_flags(argv):
    """Raises `InputError` for what can be refused before TensorFlow is started."""
    train_main.check_flags(argv)
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
        train_main.train(program, job)


def train_as_worker():
    """Trains as the worker that the environment says.

    Raises:
      Lost: another worker, or the way to it, is gone.
    """
    import tensorflow as tf

    from modern import cluster

    worker = cluster.from_environment()
    job, make_source = job_flags.job_from_flags(workers=worker.count)
    devices = job_flags.devices_from_flags(job, worker.count)
    try:
        program = modern_flags.program_from_flags(job, make_source(job), devices, False, worker)
        train_main.train(program, job, worker.chief)
        program.agree(0)  # nobody leaves while another still needs an answer
    except tf.errors.OpError as error:
        raise Lost(cluster.lost(worker, error))


def start_workers():
    """Starts the workers on this machine and waits for them; their exit status."""
    from modern import cluster
    from workloads import addresses, children

    places, workers = addresses.free(FLAGS.workers), []
    try:
        for index in range(FLAGS.workers):
            name, variables = "worker {}".format(index), {"TF_CONFIG": cluster.config(places, index)}
            workers.append(children.Child(name, _worker, (sys.argv,), variables=variables))
        signal.signal(signal.SIGTERM, lambda *unused: [os.kill(worker.pid, signal.SIGTERM) for worker in workers])
        return max(children.receive_from_all(workers))
    except Lost as error:
        again = "; start again to go on from the last checkpoint" if FLAGS.checkpoint_dir else ""
        raise Lost("{}; the others were stopped{}".format(error, again))
    finally:
        children.stop_all(workers)


def train_by_servers():
    """Trains as the coordinator of workers and parameter servers; or is one of these, where `TF_CONFIG` says so."""
    from modern import cluster, servers

    config = cluster.tf_config(("chief", "worker", "ps"))
    if config is not None and config[1] != "chief":
        environment.prepare(exact=True)  # see `Servers`
        servers.serve(*config)
    if config is not None:
        environment.prepare(exact=False)
        import tensorflow as tf

        return _coordinate(tf.distribute.cluster_resolver.TFConfigClusterResolver())
    with servers.Servers(FLAGS.workers, FLAGS.parameter_servers) as started:
        environment.prepare(exact=False)
        _coordinate(servers.resolver(started.cluster))


def end_with(work):
    """Does `work` and ends the process: a coordinator's threads would wait for servers that are gone."""
    status = status_of(work)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status or 0)


def _coordinate(resolver):
    import tensorflow as tf

    from modern import cluster
    from modern.parameter_servers import ParameterServerProgram

    workers = len(resolver.cluster_spec().as_dict()["worker"])
    job, make_source = job_flags.job_from_flags(workers=workers, replicas=1)
    options = modern_flags.options_from_flags(exact=False)
    try:
        with ParameterServerProgram(job, make_source(job), options, resolver) as program:
            train_main.train(program, job)
            print(program.staleness_line())
    except tf.errors.UnavailableError as error:  # a worker that is lost is missed by nobody
        raise Lost("a parameter server was lost ({})".format(cluster.reason(error)))


def _worker(speaker, argv):
    FLAGS(argv)
    try:
        train_as_worker()
        speaker.say(0)
    except SystemExit as stopped:
        speaker.say(stopped.code)


def main(argv):
    check_flags(argv)
    if FLAGS.strategy == "multi_worker" and not in_cluster():
        sys.exit(start_workers())
    if FLAGS.strategy == "parameter_server":
        end_with(train_by_servers)
    environment.prepare(exact=False)
    train_as_worker() if FLAGS.strategy == "multi_worker" else train_alone()


def console():
    """Entry point."""
    run_main(main)


if __name__ == "__main__":
    console()
