"""The job, which both sides share."""

from __future__ import annotations

from absl import flags

from workloads import registry

flags.DEFINE_string(
    "workload", "regression", "One of {}; or package.module:attribute for your own.".format(", ".join(registry.NAMES))
)
flags.DEFINE_string("size", "small", "small: seconds on two cores; seed: the write-up's own numbers.")
flags.DEFINE_integer("replicas", 2, "Towers, or replicas: devices that each take a share of the batch.")
flags.DEFINE_integer("global_batch", None, "Examples of all replicas in one step; default: the workload's.")
flags.DEFINE_string("dtype", "float32", "float32 or float64.")
flags.DEFINE_integer("seed", 0, "Of initial values, synthetic data, shuffling and noise.")
flags.DEFINE_string("data_dir", None, "Folder with CIFAR-10 binary or IDX (MNIST) files; default: synthetic data.")
flags.DEFINE_boolean("resident", False, "The first synthetic batch at every step: input that costs nothing.")
flags.DEFINE_string("device", "auto", "auto: GPUs if there are any, else logical CPU devices; cpu; gpu.")
flags.DEFINE_integer("logical_cpus", 8, "How many logical devices the CPU may be divided into.")

FLAGS = flags.FLAGS


def job_from_flags(workload_name=None, resident=None):
    """The job that the flags say, and where its batches come from.

    Args:
      workload_name, resident: instead of `--workload` and `--resident`.

    Returns:
      (`Job`, make_source): `make_source(job)` gives a `Source` of batches for that job, or one that differs
      in dtype.

    Raises:
      InputError: a flag's value is not usable.
    """
    from workloads import sources
    from workloads.data import folder
    from workloads.errors import require
    from workloads.job import Job

    workload = registry.get(workload_name or FLAGS.workload, FLAGS.size)
    resident = FLAGS.resident if resident is None else resident
    require(not (FLAGS.data_dir and resident), "--resident", True, "not with --data_dir")
    data, make_source = ("resident", sources.Resident) if resident else ("synthetic", sources.Synthetic)
    if FLAGS.data_dir is not None:
        workload, images, labels, data = folder.open_folder(FLAGS.data_dir, workload)
        make_source = lambda job: sources.Images(job, images, labels)  # noqa: E731
    job = Job(workload, FLAGS.replicas, FLAGS.global_batch, FLAGS.dtype, FLAGS.seed, data)
    return job, make_source


def devices_from_flags():
    """The device of each replica; see `devices.choose`."""
    from workloads import devices

    return devices.choose(FLAGS.device, FLAGS.replicas, FLAGS.logical_cpus)
