"""The job, which both sides share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from absl import flags

from workloads.job import DTYPES
from workloads.lifted import is_lift_folder
from workloads.selection import registry
from workloads.support.command_line import command
from workloads.support.machine import devices

if TYPE_CHECKING:
    from workloads.data.batches import Data
    from workloads.job import Job
    from workloads.lifted.workload import LiftedWorkload
    from workloads.sources import Source
    from workloads.workload import Workload

PLACEMENTS = ("towers", "layers")

_NAMES = ", ".join(registry.NAMES)
flags.DEFINE_string(
    "workload",
    "regression",
    f"The workload: one of {_NAMES}; package.module:attribute; file.py:attribute; or a folder that legacy.lift wrote.",
)
flags.DEFINE_enum("size", "small", registry.SIZES, "small: seconds on two cores; seed: the numbers of the write-ups.")
flags.DEFINE_integer(
    "replicas", None, "Towers, or replicas, each on a device of its own. Default: 2, or a lift's number of towers."
)
flags.DEFINE_integer("global_batch", None, "Examples of all replicas in one step. Default: the workload's.")
flags.DEFINE_enum("dtype", "float32", DTYPES, "Type of weights and activations.")
flags.DEFINE_integer("seed", 0, "Seed of initial values, synthetic data, shuffling and noise.")
flags.DEFINE_integer(
    "staleness",
    None,
    "Asynchronous updates in a fixed order: each replica's gradient is applied by itself, this many updates late. "
    "Default: synchronous updates.",
)
flags.DEFINE_string("data_dir", None, "Folder with CIFAR-10 binary or IDX (MNIST) files. Default: synthetic data.")
flags.DEFINE_string(
    "data",
    None,
    "Your own data: an .npz file with an array of all examples for each input; module:function, which takes the global "
    "batch and returns a tf.data.Dataset, an iterable, or arrays; or, with --parser, a TFRecord file or a folder.",
)
flags.DEFINE_string(
    "parser",
    None,
    "For TFRecord files in --data: module:function, from a record (a scalar string tensor) to {input: tensor}.",
)
flags.DEFINE_boolean(
    "shuffle",
    None,
    "With arrays or TFRecord files in --data: each epoch has an order of its own, drawn from --seed. Default: yes, but "
    "for a lift that carries a state from step to step.",
)
flags.DEFINE_list(
    "settings",
    [],
    "For a lift: values of its scalar inputs, as name=value,name=value. Default: those given to legacy.lift.",
)
flags.DEFINE_enum(
    "placement", "towers", PLACEMENTS, "towers: each on its device; layers: the model's layers on several devices."
)
flags.DEFINE_integer("layer_devices", 2, "With --placement=layers: devices that the layers are divided among.")
flags.DEFINE_integer("micro_batches", 1, "With --placement=layers: parts of a batch that are processed side by side.")
flags.DEFINE_boolean("resident", False, "Use the first synthetic batch at every step, so that input costs nothing.")
flags.DEFINE_enum("device", "auto", devices.KINDS, "auto: GPUs if there are any, else logical CPU devices.")
flags.DEFINE_integer("logical_cpus", 8, "Number of logical devices that the CPU may be divided into.")
flags.DEFINE_integer("logical_gpus", 1, "Number of logical devices that each GPU is divided into, and its memory.")

FLAGS = flags.FLAGS


def _lift_from_flags() -> str | None:
    """Returns the lift that `--workload` names, whose graph may crash TensorFlow; None for any other workload."""
    return f"--workload: {FLAGS.workload!r}" if is_lift_folder(FLAGS.workload) else None


command.isolate_if(_lift_from_flags)


def job_from_flags(
    workload_name: str | None = None, resident: bool | None = None, workers: int = 1, replicas: int = 2
) -> tuple[Job, Callable[[Job], Source]]:
    """Makes the job that the flags describe, and the function that makes the source of its batches.

    Args:
      workload_name: used instead of `--workload` if given.
      resident: used instead of `--resident` if given.
      workers: number of workers; `--replicas` are those of one.
      replicas: default of `--replicas`.

    Returns:
      (`Job`, make_source): `make_source(job)` makes the `Source` of batches for that job, or for one that differs
      in dtype only. It can be pickled.

    Raises:
      InputError: a flag's value is not usable.
    """
    from workloads.job import Job
    from workloads.lifted.workload import as_lifted
    from workloads.support.errors import require

    workload = registry.get(workload_name or FLAGS.workload, FLAGS.size)
    resident = FLAGS.resident if resident is None else resident
    require(not (FLAGS.data_dir and resident), "--resident", True, "not with --data_dir")
    if workload.is_lifted:
        require(workers == 1, "--workers", workers, "a lifted workload runs on one")
        return _lifted_job(as_lifted(workload), resident)
    require(not (FLAGS.data and resident), "--resident", True, "not with --data")
    require(FLAGS.data or not FLAGS.parser, "--parser", FLAGS.parser, "needs TFRecord files in --data")
    require(not (FLAGS.data and FLAGS.data_dir), "--data_dir", FLAGS.data_dir, "not with --data")
    replicas = workers * _replicas_of_worker(workers, replicas)
    source = _native_source(workload, resident)
    job = Job(source.workload, replicas, FLAGS.global_batch, FLAGS.dtype, FLAGS.seed, source.name, FLAGS.staleness)
    return job, source.make


def _replicas_of_worker(workers: int, default: int) -> int:
    """Returns the number of replicas of one worker; with layers on several devices, of micro-batches."""
    from workloads.support.errors import require

    if FLAGS.placement == "towers":
        return default if FLAGS.replicas is None else FLAGS.replicas
    require(FLAGS.replicas is None, "--replicas", FLAGS.replicas, "with --placement=layers: --micro_batches")
    require(workers == 1, "--workers", workers, "with --placement=layers: 1")
    require(FLAGS.micro_batches >= 1, "--micro_batches", FLAGS.micro_batches, "must be at least 1")
    return FLAGS.micro_batches


class NativeSource(NamedTuple):
    """Batches of a workload that is no lift.

    Attributes:
      workload: as the data need it: images in `--data_dir` have sizes of their own.
      name: in words; see `Job.data`.
      make: function from a job of the workload to its source.
    """

    workload: Workload
    name: str
    make: Callable[[Job], Source]


def _native_source(workload: Workload, resident: bool) -> NativeSource:
    """Returns the batches that the flags describe: from a folder of images, of the user's own, or synthetic."""
    from workloads import sources
    from workloads.data import folder, image_source, own_data

    if FLAGS.data_dir is not None:
        workload, images, labels, name = folder.open_folder(FLAGS.data_dir, workload)
        make_images = functools.partial(image_source.ImageSource, images=images, labels=labels)
        return NativeSource(workload, name, make_images)
    if FLAGS.data is not None or (workload.has_dataset and not resident):
        own = _own_source(workload)
        return NativeSource(workload, own.name, functools.partial(own_data.OwnData, data=own.data, shuffle=own.shuffle))
    if resident:
        return NativeSource(workload, "resident", sources.Resident)
    return NativeSource(workload, "synthetic", sources.Synthetic)


class OwnSource(NamedTuple):
    """The user's own data.

    Attributes:
      name: in words; see `Job.data`.
      data: opened.
      shuffle: whether arrays are shuffled in each epoch.
    """

    name: str
    data: Data
    shuffle: bool


def _own_source(workload: Workload) -> OwnSource:
    """Opens the data that `--data` names, or else those that come with the workload."""
    from workloads.data.epochs import Order
    from workloads.data.function import FunctionData
    from workloads.data.opening import open_data

    shuffle = not workload.carries_state if FLAGS.shuffle is None else FLAGS.shuffle
    shipped = functools.partial(FunctionData, f"{workload.name}.dataset", workload.dataset)
    data = shipped() if FLAGS.data is None else open_data(FLAGS.data, FLAGS.parser)
    order = Order(0, 0, shuffle, workload.last_batch)
    return OwnSource(f"{data.description}, {order.describe()}", data, shuffle)


class LiftedSource(NamedTuple):
    """Batches of a lift.

    Attributes:
      name: in words; see `Job.data`.
      make: function from a job of the lift to its source.
      settings: {input: value} of the graph's scalar inputs.
      assumed: {input: value} of those among them that nothing gave a value.
    """

    name: str
    make: Callable[[Job], Source]
    settings: dict[str, Any]
    assumed: dict[str, float]


def _lifted_job(workload: LiftedWorkload, resident: bool) -> tuple[Job, Callable[[Job], Source]]:
    """`job_from_flags` for a lifted workload."""
    from workloads.job import Job
    from workloads.support.errors import require

    require(FLAGS.placement == "towers", "--placement", FLAGS.placement, "not for a lifted workload")
    require(FLAGS.staleness is None, "--staleness", FLAGS.staleness, "not for a lifted workload")
    require(FLAGS.data_dir is None, "--data_dir", FLAGS.data_dir, "not for a lifted workload; give --data")
    source = lifted_source_from_flags(workload, resident)
    replicas = workload.plan.towers if FLAGS.replicas is None else FLAGS.replicas
    return Job(workload, replicas, FLAGS.global_batch, FLAGS.dtype, FLAGS.seed, source.name), source.make


def lifted_source_from_flags(workload: LiftedWorkload, resident: bool, assume: bool = False) -> LiftedSource:
    """Returns the batches of a lift that `--data` and `--settings` describe.

    Args:
      workload: the lift.
      resident: whether the first synthetic batch is used at every step.
      assume: whether scalar inputs that nothing gave a value have their usual one, and not random ones.

    Returns:
      the batches' name, the function that makes them, and the settings: of the flag, or else of the lift.

    Raises:
      InputError: a flag's value is not usable.
    """
    from workloads.lifted import sources
    from workloads.lifted.plan.settings import assumed_settings, kept_settings
    from workloads.support.errors import require

    given = command.assignments(FLAGS.settings, "--settings", "name=value")
    for name in given:
        require(name in workload.inputs(), "--settings", name, "allowed: " + ", ".join(workload.inputs()))
    settings: dict[str, Any] = {**kept_settings(workload.plan), **given}
    assumed = assumed_settings(workload.plan, settings) if assume else {}
    settings.update(assumed)
    if FLAGS.data is not None:
        require(not resident, "--resident", True, "not with --data")
        own = _own_source(workload)
        make_own = functools.partial(sources.LiftedOwnData, data=own.data, settings=settings, shuffle=own.shuffle)
        return LiftedSource(own.name, make_own, settings, assumed)
    kind = sources.LiftedResident if resident else sources.LiftedSynthetic
    make: Callable[[Job], Source] = functools.partial(kind, settings=settings)
    return LiftedSource("resident" if resident else "synthetic", make, settings, assumed)


def devices_from_flags(job: Job, workers: int = 1) -> list[str]:
    """Returns the device of each replica of a job, or of each pipeline stage; see `devices.choose_devices`.

    Where `workers` share the job: the devices of one worker's replicas.
    """
    return devices.choose_devices(FLAGS.device, devices_needed(job) // workers, FLAGS.logical_cpus, FLAGS.logical_gpus)


def devices_needed(job: Job) -> int:
    """Returns the number of devices that a job uses."""
    from workloads.support.errors import require

    if FLAGS.placement == "towers":
        return job.replicas
    require(FLAGS.layer_devices >= 1, "--layer_devices", FLAGS.layer_devices, "must be at least 1")
    return FLAGS.layer_devices
