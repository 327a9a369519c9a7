"""`python -m modern.train --workload=cifar_cnn --replicas=2 --steps=200`: train under a tf.distribute strategy.

On several machines, start it on each with TF_CONFIG set, or as a SLURM job, and --strategy=multi_worker. With --workers
and no such environment, the workers are started on this machine; so are --parameter_servers. With --checkpoint_dir a
run that was stopped resumes, with the bits of a run that never stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from absl import flags

from modern import flags as modern_flags
from modern import local_workers_training, parameter_server_training, worker_training
from workloads.selection import flags as job_flags
from workloads.selection import name_flags
from workloads.support.command_line import command
from workloads.support.errors import require
from workloads.support.machine import environment
from workloads.training import flags as training_flags

if TYPE_CHECKING:
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


def train_alone() -> int:
    """Trains in this process and returns the exit status."""
    job, make_source = job_flags.job_from_flags()
    devices = job_flags.devices_from_flags(job)
    source = make_source(job)
    with modern_flags.program_from_flags(job, source, devices, exact=False) as program:
        return training_flags.train_from_flags(program, job, source, further_export=further_export())


def _worker(speaker: Speaker, argv: list[str]) -> None:
    """Runs in a child process as the worker that its environment says; here, where the child finds all flags."""
    FLAGS(argv)
    speaker.say(worker_training.train_as_worker())
    speaker.listen()  # another worker may still read what this one has sent; the parent waits for all


def main() -> int:
    """Trains alone, as one worker of several, as their parent, or with parameter servers."""
    check_flags()
    check_export_flags()
    if FLAGS.strategy == "multi_worker" and not worker_training.in_cluster():
        return local_workers_training.train_on_local_workers(_worker)
    if FLAGS.strategy == "parameter_server":
        return parameter_server_training.train_with_parameter_servers()
    environment.prepare(exact=False)
    return worker_training.train_as_machine() if FLAGS.strategy == "multi_worker" else train_alone()


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
