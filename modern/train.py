"""`python -m modern.train --workload=cifar_cnn --replicas=2 --steps=200`: train under a tf.distribute strategy.

On several machines, start it on each with TF_CONFIG set, or as a SLURM job, and --strategy=multi_worker. With --workers
and no such environment, the workers are started on this machine; so are --parameter_servers. With --checkpoint_dir a
run that was stopped resumes, with the bits of a run that never stopped.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from absl import flags

from modern import flags as modern_flags
from workloads.selection import flags as job_flags
from workloads.selection import name_flags
from workloads.support.command_line import command
from workloads.support.errors import Lost, require
from workloads.support.machine import environment
from workloads.support.processes import ending
from workloads.support.user import user_code
from workloads.training import flags as training_flags

if TYPE_CHECKING:
    import tensorflow as tf

    from modern.multi_worker import local_servers
    from workloads.support.processes.child_processes import Child
    from workloads.support.processes.child_side import Speaker

flags.DEFINE_string(
    "export_keras",
    None,
    "With --export: module:function of a function that returns your own compiled Keras 3 model. It gets the trained "
    "weights, statistics and optimizer slots, and is saved as model.keras.",
)
name_flags.define_names(flags.FLAGS)

FLAGS = flags.FLAGS


def check_flags() -> None:
    """Raises `InputError` for values that can be refused before TensorFlow is imported."""
    training_flags.check_flags()
    modern_flags.check_strategy()
    require(
        FLAGS.workers == 1 or FLAGS.strategy != "mirrored",
        "--workers",
        FLAGS.workers,
        "--strategy=mirrored has one; several need --strategy=multi_worker or parameter_server",
    )


def check_export_flags() -> None:
    """Raises `InputError` for flags of a Keras model that are not complete."""
    text = FLAGS.export_keras
    require(not text or FLAGS.export, "--export_keras", text, "needs --export, the folder to make")
    require(not text or FLAGS.strategy == "mirrored", "--export_keras", text, "with --strategy=mirrored")
    require(not text or FLAGS.placement == "towers", "--export_keras", text, "with --placement=towers")
    require(FLAGS.names is None or text, "--names", FLAGS.names, "needs --export_keras")
    name_flags.check_names(FLAGS)


def further_export() -> training_flags.FurtherExport | None:
    """Returns the function that writes the Keras model; None without `--export_keras`."""
    if not FLAGS.export_keras:
        return None
    from modern.keras_models.export import KerasRequest

    return KerasRequest(FLAGS.export_keras, FLAGS.names).export


def in_cluster() -> bool:
    """Returns whether the environment says that this process is one of several workers."""
    return bool(os.environ.get("TF_CONFIG")) or "SLURM_PROCID" in os.environ


def train_alone() -> int:
    """Trains in this process and returns the exit status."""
    job, make_source = job_flags.job_from_flags()
    devices = job_flags.devices_from_flags(job)
    source = make_source(job)
    with modern_flags.program_from_flags(job, source, devices, exact=False) as program:
        return training_flags.train_from_flags(program, job, source, further_export=further_export())


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


def start_workers() -> int:
    """Starts the workers on this machine, waits for them and returns their exit status."""
    from modern.multi_worker import cluster_config
    from workloads.support.processes import addresses, child_processes

    places = addresses.free_addresses(FLAGS.workers)
    workers: list[child_processes.Child] = []
    received: list[int] = []  # the number of the signal that ends the run
    completed = False

    def forward(number: int) -> None:
        received.append(number)
        _forward(signal.SIGTERM, workers)  # they ignore Ctrl-C, which is for this process to act on

    forwarded = [signal.SIGTERM, *([signal.SIGINT] if FLAGS.checkpoint_dir else [])]
    undo = [ending.handle_once(number, forward) for number in forwarded]
    try:
        for index in range(FLAGS.workers):
            name, variables = f"worker {index}", {"TF_CONFIG": cluster_config.tf_config_text(places, index)}
            workers.append(child_processes.Child(name, _worker, (sys.argv,), variables=variables, quiet=True))
        status = max(child_processes.receive_from_all(workers))
        completed = True
        return 128 + received[0] if received and status else status
    except Lost as error:
        if received:  # before all workers had saved
            raise ending.exception_for(received[0])
        again = "; start again to go on from the last checkpoint" if FLAGS.checkpoint_dir else ""
        raise Lost(f"{error}; the others were stopped{again}")
    finally:
        for take_back in undo:
            take_back()
        grace = child_processes.GRACE if completed else 0.0
        child_processes.stop_all(workers[1:], grace)
        child_processes.stop_all(workers[:1], grace)  # last, since it hosts the service that connects them


def train_with_parameter_servers() -> int:
    """Trains as the coordinator of workers and parameter servers, or serves as one of them if `TF_CONFIG` says so."""
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
        started.watch_workers(_end_without_workers)
        return _coordinate(local_servers.coordinator_resolver(started.cluster), started)


def _end_without_workers() -> None:
    """Ends this process, which waits inside of TensorFlow for a worker."""
    again = "; start again to go on from the last checkpoint" if FLAGS.checkpoint_dir else ""
    os.write(2, f"error: all workers were lost{again}\n".encode())
    ending.end_process(1)


def _forward(number: signal.Signals, workers: Sequence[Child]) -> None:
    """Sends a signal on to the workers."""
    for worker in workers:
        if worker.pid is not None:
            os.kill(worker.pid, number)


def _coordinate(
    resolver: tf.distribute.cluster_resolver.ClusterResolver, started: local_servers.LocalServers | None = None
) -> int:
    """Trains on the servers that `resolver` knows, `started` on this machine or by others; returns the exit status."""
    import tensorflow as tf

    from modern.multi_worker import cluster_config
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
    logging.getLogger("tensorflow").setLevel(logging.CRITICAL)  # which has much to say about servers that are ended
    raise failure


def _worker(speaker: Speaker, argv: list[str]) -> None:
    """Runs in a child process as the worker that its environment says."""
    FLAGS(argv)
    speaker.say(train_as_worker())
    speaker.listen()  # another worker may still read what this one has sent; the parent waits for all


def main() -> int:
    """Trains alone, as one worker of several, as their parent, or with parameter servers."""
    check_flags()
    check_export_flags()
    if FLAGS.strategy == "multi_worker" and not in_cluster():
        return start_workers()
    if FLAGS.strategy == "parameter_server":
        return train_with_parameter_servers()
    environment.prepare(exact=False)
    return train_as_machine() if FLAGS.strategy == "multi_worker" else train_alone()


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
