"""Checks of TensorFlow: its import, towers in a session, replicas under a strategy, GPUs, NCCL, oneDNN.

They are made in a process of their own, which a TensorFlow that does not fit the processor may kill.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from parity.installation.check import Check
from parity.processes.child_command import child_environment, module_command

SUBJECT = "what runs here"

#: Seconds that all of this may take.
TIMEOUT = 300.0

#: Devices of the CPU that a tower or replica each runs on.
LOGICAL = 2


def tensorflow_checks() -> list[Check]:
    """Returns the checks, made by a child process; one that says how it ended if it did not finish."""
    remedy = 'python -m pip install --force-reinstall "tensorflow"; a processor without AVX needs a build of its own'
    command = module_command(sys.executable, __name__)
    try:
        child = subprocess.run(command, env=child_environment(), capture_output=True, text=True, timeout=TIMEOUT)
        return [Check(**entry) for entry in json.loads(child.stdout.strip().rpartition("\n")[2])]
    except subprocess.TimeoutExpired:
        reason = f"no answer in {TIMEOUT:.0f} s"
    except (json.JSONDecodeError, TypeError):
        reason = (child.stderr.strip() or f"its process ended with status {child.returncode}").rpartition("\n")[2]
    return [Check(SUBJECT, "TensorFlow", False, f"does not import: {reason}", remedy=remedy)]


def make_checks() -> list[Check]:
    """Returns the checks, made in this process."""
    from workloads.support.machine import environment

    environment.prepare(exact=False)
    import tensorflow as tf

    from modern.collectives import strategy

    strategy.divide_cpu(LOGICAL)
    devices = ", ".join(device.name.rpartition("device:")[2] for device in tf.config.list_logical_devices())
    return [
        Check(SUBJECT, "TensorFlow imports", True, tf.__version__),
        Check(SUBJECT, "logical devices", True, devices),
        _trial("towers in a session", _run_towers, f"{LOGICAL} towers"),
        _trial("replicas, all-reduce", _run_replicas, f"MirroredStrategy, {LOGICAL} replicas"),
        *_gpu_checks(tf.config.list_physical_devices("GPU")),
        _onednn_check(),
    ]


def _trial(name: str, run: Callable[[], None], detail: str) -> Check:
    remedy = "python -m pip install --force-reinstall tensorflow"
    try:
        run()
    except Exception as error:
        return Check(SUBJECT, name, False, (str(error).strip() or repr(error)).splitlines()[0], remedy=remedy)
    return Check(SUBJECT, name, True, detail)


def _run_towers() -> None:
    """Adds what a tower on each logical device computes, in a session."""
    import tensorflow as tf

    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        towers = []
        for number in range(LOGICAL):
            with tf.device(f"/cpu:{number}"):
                towers.append(tf.constant(float(number)))
        _require_sum(session.run(tf.add_n(towers)))


def _run_replicas() -> None:
    """Adds what a replica on each logical device computes, under a strategy."""
    import tensorflow as tf

    from modern.collectives import strategy
    from modern.options import ModernOptions

    mirrored = strategy.mirrored_strategy([f"CPU:{number}" for number in range(LOGICAL)], ModernOptions())

    @tf.function
    def step() -> Any:
        parts = mirrored.run(lambda: tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32))
        return mirrored.reduce("SUM", parts, axis=None)

    _require_sum(step())


def _require_sum(value: Any) -> None:
    if float(value) != sum(range(LOGICAL)):
        raise ValueError(f"the sum of 0 to {LOGICAL - 1} is {float(value)}")


def _gpu_checks(gpus: list[Any]) -> list[Check]:
    """Checks of GPUs, which no command needs."""
    import tensorflow as tf
    from tensorflow.python.framework import kernels

    cuda = tf.sysconfig.get_build_info().get("cuda_version")
    built = f"TensorFlow is built for CUDA {cuda}" if cuda else "TensorFlow is built without CUDA"
    driver = bool(glob.glob("/proc/driver/nvidia/gpus/*")) and not gpus
    remedy = 'a GPU is here that TensorFlow cannot use: pip install "tensorflow[and-cuda]"' if driver else ""
    names = [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name) for gpu in gpus]
    nccl = any(k.device_type == "GPU" for k in kernels.get_registered_kernels_for_op("NcclAllReduce").kernel)
    use = "--all_reduce=nccl" if len(gpus) > 1 else "needs two GPUs"
    return [
        Check(SUBJECT, "GPUs", bool(gpus), ", ".join(names) or f"none; {built}", False, remedy),
        Check(SUBJECT, "NCCL", nccl and len(gpus) > 1, f"{'built in' if nccl else 'not built in'}; {use}", False),
    ]


def _onednn_check() -> Check:
    """Check of oneDNN, whose kernels only change speed and the last bits."""
    from tensorflow.python.util import _pywrap_util_port

    built, switched_off = _pywrap_util_port.IsMklEnabled(), os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0"
    text = "not built in" if not built else "switched off by TF_ENABLE_ONEDNN_OPTS=0" if switched_off else "in use"
    return Check(SUBJECT, "oneDNN", built and not switched_off, text + "; exact comparisons do without", False)


if __name__ == "__main__":
    print(json.dumps([vars(check) for check in make_checks()]))
