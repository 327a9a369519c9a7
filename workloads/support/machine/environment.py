"""Process-wide settings made before TensorFlow is imported, and the description of the environment in reports."""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import signal
import sys
from collections.abc import Iterator

from workloads.progress.progress import Progress
from workloads.support.errors import require
from workloads.support.machine import allocator

#: The module by which TensorFlow's import takes all of Keras along.
_KERAS = "keras.src.optimizers"

#: The versions of TensorFlow that this project runs with: one of 1.x, and from one of 2.x on.
LAST_OF_1, FIRST_OF_2 = (1, 15), (2, 16)

#: Most calls inside of each other: losses of deep networks are sums of hundreds of penalties, each added to the last.
_DEEPEST = 10_000
#: Option of the system call `prctl`: the signal that a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1


def prepare(exact: bool) -> None:
    """Makes the process-wide settings, then imports TensorFlow. Call before anything else imports it.

    Args:
      exact: for runs that must give identical bits: oneDNN's graph rewrite off, which fuses ops differently in
        a session and in a function. (Grappler, the other one, is switched off where programs are built.)

    Raises:
      InputError: this TensorFlow is one that the project does not run with.
    """
    if "tensorflow" in sys.modules:
        raise RuntimeError("environment.prepare must be called before TensorFlow is imported")
    set_variables(exact)
    sys.setrecursionlimit(max(_DEEPEST, sys.getrecursionlimit()))
    allocator.keep_freed_memory()
    loading = Progress("TensorFlow")
    loading.stage("loading", at_once=True)  # during which no other thread may come to say so
    with importing_tensorflow():
        import tensorflow as tf

        require_supported(tf.__version__)
        tf.config.experimental.list_physical_devices("GPU")
        # By default it depends on whether TensorFlow's first use is inside a graph, where there is none: then an op
        # without a GPU kernel fails in the port.
        tf.config.set_soft_device_placement(True)
        tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    loading.done()


def set_variables(exact: bool) -> None:
    """Sets the environment variables that TensorFlow reads when it is imported; `exact` as in `prepare`."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    # The two sides of a benchmark run beside each other: neither may take a card's whole memory at its start.
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    if exact:
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"


@contextlib.contextmanager
def importing_tensorflow() -> Iterator[None]:
    """Context in which TensorFlow's import is silent and takes half as long.

    TensorFlow reports CUDA drivers and CPU features on stderr, whatever the log level.
    """
    with _muted_stderr(), _keras_left_out(), _no_collections():
        yield


def require_supported(version: str) -> None:
    """Raises `InputError` unless the project runs with a version of TensorFlow, such as "2.16.2"."""
    numbers = tuple(int(number) for number in version.split(".")[:2])
    allowed = "must be 1.15, or 2.16 or later (docs/versions.md)"
    require(numbers == LAST_OF_1 or numbers >= FIRST_OF_2, "TensorFlow", version, allowed)


@contextlib.contextmanager
def _keras_left_out() -> Iterator[None]:
    """Keeps Keras from being imported: TensorFlow does so to register its optimizers, and takes as long again.

    Whoever imports Keras later, `tf.keras` included, gets it, and with it what it registers.
    """
    if _KERAS in sys.modules:
        yield
        return
    sys.modules[_KERAS] = None  # type: ignore[assignment]  # so Python marks a module that cannot be imported
    try:
        yield
    finally:
        del sys.modules[_KERAS]


@contextlib.contextmanager
def _no_collections() -> Iterator[None]:
    """Switches garbage collection off meanwhile, then exempts all objects that exist: modules are never garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def _muted_stderr() -> Iterator[None]:
    """Discards what the process, C++ included, writes to stderr; a Python exception is still reported afterwards."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def end_with_parent(parent: int) -> None:
    """Makes the system end this process when its parent does, however that happens; Linux only.

    Args:
      parent: the parent's process number, which it may have lost already.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def describe() -> dict[str, str]:
    """Returns {item: text}: versions, processor, and every setting of the machine that can change the numbers."""
    import numpy as np
    import tensorflow as tf

    about = {
        "tensorflow": tf.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "oneDNN": "off" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0" else "default",
    }
    gpus = tf.config.experimental.list_physical_devices("GPU")
    about["GPUs"] = str(len(gpus))
    if hasattr(tf.config.experimental, "tensor_float_32_execution_enabled"):
        about["TF32"] = "on" if tf.config.experimental.tensor_float_32_execution_enabled() else "off"
    return about


def peak_bytes() -> int:
    """Returns the most memory that this process had resident so far, in bytes.

    Read from the kernel's per-program high-water mark where there is one: `getrusage` counts what the process
    was before it became this program, too.
    """
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
