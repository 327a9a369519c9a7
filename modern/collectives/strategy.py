"""Strategies on the devices of this machine; without GPUs, on logical devices of the CPU."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf
from tensorflow.python.distribute import collective_all_reduce_strategy, multi_worker_util
from tensorflow.python.eager import context

from modern.collectives import all_reduce
from modern.collectives.worker import Worker
from modern.options import ALL_REDUCES, ModernOptions
from workloads.support.errors import require
from workloads.support.machine import threads
from workloads.support.user import user_modules

#: Keys of collectives that are reserved for each strategy; see `mirrored_strategy`.
KEYS_PER_STRATEGY = 1000

#: Seconds that workers wait for each other at the start, and after which a silent one is taken for lost.
START_SECONDS, HEARTBEAT_SECONDS = 300, 20


def divide_cpu(count: int) -> None:
    """Makes `count` logical CPU devices, once per process, before TensorFlow uses the CPU.

    Raises:
      InputError: TensorFlow already runs with fewer.
    """
    cpu = tf.config.list_physical_devices("CPU")[0]
    try:
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * count)
    except RuntimeError:  # already running: fine if there are enough
        have = len(tf.config.list_logical_devices("CPU"))
        early = user_modules.STARTED_TENSORFLOW
        why = f": importing {early[0]} ran ops, which belong into functions" if early else ""
        require(have >= count, "--logical_cpus", count, f"TensorFlow already runs with {have}{why}")


def share_cpu(devices: Sequence[str], at_once: int, exact: bool) -> None:
    """Makes the logical CPU devices of this process's replicas, and gives each its share of the cores; not of GPUs.

    Args:
      devices: device of each replica of this process, e.g. ["CPU:0", "CPU:1"].
      at_once: number of replicas on this machine that run at the same time.
      exact: for identical bits, which leaves the threads as TensorFlow has them.
    """
    if devices[0].startswith("CPU"):
        divide_cpu(len(devices))
        if not exact:
            threads.set_within_ops(threads.share_of_cores(at_once))


def mirrored_strategy(devices: Sequence[str], options: ModernOptions) -> tf.distribute.MirroredStrategy:
    """`MirroredStrategy` on `devices` (e.g. ["CPU:0", "CPU:1"]) with the all-reduce of `options`."""
    # Every strategy numbers its collectives from the same start, so two in one process would meet in each other's.
    # TensorFlow's own tests (distribute/strategy_combinations.py) move the start in this way; no public one exists.
    tf.distribute.MirroredStrategy._collective_key_base += KEYS_PER_STRATEGY
    return tf.distribute.MirroredStrategy(
        ["/device:" + device for device in devices],
        all_reduce.make_cross_device_ops(options.all_reduce, options.average, len(devices)),
    )


class MultiWorkerStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """`MultiWorkerMirroredStrategy` whose workers may also have several replicas on one CPU.

    TensorFlow's own gives a worker without GPUs one replica, whatever logical devices its CPU has.

    Args:
      worker: this process's place in the cluster.
      devices: device of each replica in this process, e.g. ["CPU:0", "CPU:1"].
      options: see `ModernOptions`.

    Attributes:
      form: in which form gathered gradients are added in the towers' order (see `combining.combine`), or None where
        collectives add them.
    """

    def __init__(self, worker: Worker, devices: Sequence[str], options: ModernOptions) -> None:
        communication = tf.distribute.experimental.CommunicationOptions(
            implementation=all_reduce.communication_implementation(options.all_reduce)
        )
        extended = _MultiWorkerExtended(self, worker.resolver, communication, devices)
        tf.distribute.Strategy.__init__(self, extended)
        self.form = options.average if ALL_REDUCES[options.all_reduce].in_order else None


class _MultiWorkerExtended(collective_all_reduce_strategy.CollectiveAllReduceExtended):
    """TensorFlow's implementation of the strategy, on the devices it is given."""

    def __init__(
        self,
        strategy: tf.distribute.Strategy,
        resolver: tf.distribute.cluster_resolver.ClusterResolver,
        communication: tf.distribute.experimental.CommunicationOptions,
        devices: Sequence[str],
    ) -> None:
        self._given = devices
        super().__init__(strategy, resolver, communication)

    def _initialize_multi_worker(self, cluster_resolver: tf.distribute.cluster_resolver.ClusterResolver) -> None:
        """Starts as TensorFlow's does, which would wait for missing workers for an hour, and here `START_SECONDS`."""
        spec = multi_worker_util.normalize_cluster_spec(cluster_resolver.cluster_spec())
        jobs = [job for job in ("chief", "worker") if job in spec.jobs]
        # The message's module has moved between versions of TensorFlow; this field has not.
        settings = tf.compat.v1.ConfigProto().experimental.coordination_config
        context.context().configure_coordination_service(
            service_type="standalone",
            service_leader=multi_worker_util.coordination_leader(spec),
            cluster_register_timeout_in_ms=1000 * START_SECONDS,
            heartbeat_timeout_in_ms=1000 * HEARTBEAT_SECONDS,
            coordinated_jobs=[
                settings.coordinated_job_list.add(name=job, num_tasks=spec.num_tasks(job)) for job in jobs
            ],
        )
        super()._initialize_multi_worker(cluster_resolver)

    def _initialize_local_devices(
        self, cluster_resolver: tf.distribute.cluster_resolver.ClusterResolver, worker_device: str
    ) -> tuple[tuple[str, ...], str]:
        kind = self._given[0].split(":")[0]
        return tuple(f"{worker_device}/device:{device}" for device in self._given), kind
