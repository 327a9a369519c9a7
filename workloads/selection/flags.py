"""The job, which both sides share."""

from __future__ import annotations

import functools

from absl import flags

from workloads.selection import registry

flags.DEFINE_string(
    "workload",
    "regression",
    "One of {}; package.module:attribute for your own; or a folder that legacy.lift wrote.".format(
        ", ".join(registry.NAMES)
    ),
)
flags.DEFINE_string("size", "small", "small: seconds on two cores; seed: the write-up's own numbers.")
flags.DEFINE_integer(
    "replicas",
    None,
    "Towers, or replicas: devices that each take a share of the batch. Default: 2, or a lift's towers.",
)
flags.DEFINE_integer("global_batch", None, "Examples of all replicas in one step; default: the workload's.")
flags.DEFINE_string("dtype", "float32", "float32 or float64.")
flags.DEFINE_integer("seed", 0, "Of initial values, synthetic data, shuffling and noise.")
flags.DEFINE_integer(
    "staleness", None, "Asynchronous: each replica's gradient is applied by itself, so many updates late. Default: no."
)
flags.DEFINE_string("data_dir", None, "Folder with CIFAR-10 binary or IDX (MNIST) files; default: synthetic data.")
flags.DEFINE_string(
    "data", None, "For a lift: an .npz file, or module:function that gives a tf.data.Dataset for a global batch."
)
flags.DEFINE_list("settings", [], "For a lift with --data: values of its scalar inputs, as name=value, by commas.")
flags.DEFINE_string("placement", "towers", "towers: each on its device; layers: the model's layers on several devices.")
flags.DEFINE_integer("layer_devices", 2, "With --placement=layers: devices that the layers are divided among.")
flags.DEFINE_integer("micro_batches", 1, "With --placement=layers: parts of a batch that go through them side by side.")
flags.DEFINE_boolean("resident", False, "The first synthetic batch at every step: input that costs nothing.")
flags.DEFINE_string("device", "auto", "auto: GPUs if there are any, else logical CPU devices; cpu; gpu.")
flags.DEFINE_integer("logical_cpus", 8, "How many logical devices the CPU may be divided into.")

FLAGS = flags.FLAGS

PLACEMENTS = ("towers", "layers")


def job_from_flags(workload_name=None, resident=None, workers=1, replicas=2):
    """The job that the flags say, and where its batches come from.

    Args:
      workload_name, resident: instead of `--workload` and `--resident`.
      workers: how many workers there are; `--replicas` are one worker's.
      replicas: what `--replicas` is unless the user says otherwise.

    Returns:
      (`Job`, make_source): `make_source(job)` gives a `Source` of batches for that job, or one that differs
      in dtype. It can be pickled.

    Raises:
      InputError: a flag's value is not usable.
    """
    from workloads import sources
    from workloads.data import folder, image_source
    from workloads.job import Job
    from workloads.lifted.workload import LiftedWorkload
    from workloads.support.errors import require

    workload = registry.get(workload_name or FLAGS.workload, FLAGS.size)
    resident = FLAGS.resident if resident is None else resident
    require(not (FLAGS.data_dir and resident), "--resident", True, "not with --data_dir")
    if isinstance(workload, LiftedWorkload):
        require(workers == 1, "--workers", workers, "a lifted workload runs on one")
        return _lifted_job(workload, resident)
    require(FLAGS.data is None, "--data", FLAGS.data, "only for a lifted workload; others take --data_dir")
    replicas = replicas if FLAGS.replicas is None else FLAGS.replicas
    require(FLAGS.placement in PLACEMENTS, "--placement", FLAGS.placement, "allowed: " + ", ".join(PLACEMENTS))
    if FLAGS.placement == "layers":
        require(FLAGS.replicas is None, "--replicas", FLAGS.replicas, "with --placement=layers: --micro_batches")
        require(workers == 1, "--workers", workers, "with --placement=layers: 1")
        require(FLAGS.micro_batches >= 1, "--micro_batches", FLAGS.micro_batches, "must be at least 1")
        replicas = FLAGS.micro_batches
    data, make_source = ("resident", sources.Resident) if resident else ("synthetic", sources.Synthetic)
    if FLAGS.data_dir is not None:
        workload, images, labels, data = folder.open_folder(FLAGS.data_dir, workload)
        make_source = functools.partial(image_source.ImageSource, images=images, labels=labels)
    job = Job(workload, workers * replicas, FLAGS.global_batch, FLAGS.dtype, FLAGS.seed, data, FLAGS.staleness)
    return job, make_source


def _lifted_job(workload, resident):
    """`job_from_flags` for a lifted workload."""
    from workloads.job import Job
    from workloads.lifted import sources
    from workloads.support import command
    from workloads.support.errors import require

    require(FLAGS.placement == "towers", "--placement", FLAGS.placement, "not for a lifted workload")
    require(FLAGS.staleness is None, "--staleness", FLAGS.staleness, "not for a lifted workload")
    require(FLAGS.data_dir is None, "--data_dir", FLAGS.data_dir, "not for a lifted workload; give --data")
    settings = command.assignments(FLAGS.settings, "--settings", "name=value")
    for name in settings:
        require(name in workload.inputs(), "--settings", name, "allowed: " + ", ".join(workload.inputs()))
    data, make_source = "synthetic", lambda job: sources.LiftedSynthetic(job, settings)
    if resident:
        data, make_source = "resident", lambda job: sources.LiftedResident(job, settings)
    if FLAGS.data is not None:
        require(not resident, "--resident", True, "not with --data")
        data, make_source = FLAGS.data, sources.from_text(FLAGS.data, settings)
    replicas = workload.plan.towers if FLAGS.replicas is None else FLAGS.replicas
    return Job(workload, replicas, FLAGS.global_batch, FLAGS.dtype, FLAGS.seed, data), make_source


def devices_from_flags(job, workers=1):
    """The device of each replica of a `Job`, or of each stage of its layers; see `devices.choose`.

    Of one of the `workers` that share the job: its own replicas' devices.
    """
    from workloads.support import devices

    return devices.choose(FLAGS.device, devices_needed(job) // workers, FLAGS.logical_cpus)


def devices_needed(job):
    """How many devices a process of this job uses."""
    from workloads.support.errors import require

    if FLAGS.placement == "towers":
        return job.replicas
    require(FLAGS.layer_devices >= 1, "--layer_devices", FLAGS.layer_devices, "must be at least 1")
    return FLAGS.layer_devices
