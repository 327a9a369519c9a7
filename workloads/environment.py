"""The process a program runs in: settings made before TensorFlow is imported, and what a report says of them."""

from __future__ import annotations

import os
import platform
import sys


def prepare(exact):
    """Settles the process-wide switches. Call before anything imports TensorFlow.

    Args:
      exact: for runs that must give identical bits: oneDNN's graph rewrite off, which fuses ops differently in
        a session and in a function. (Grappler, the other one, is switched off where programs are built.)
    """
    if "tensorflow" in sys.modules:
        raise RuntimeError("environment.prepare must be called before TensorFlow is imported")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    if exact:
        os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"


def describe():
    """{item: text}: versions, processor, and every machine-made choice that can move the numbers."""
    import numpy as np
    import tensorflow as tf

    about = {
        "tensorflow": tf.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": "{} {}, {} cores".format(platform.system(), platform.machine(), os.cpu_count()),
        "oneDNN": "off" if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0" else "default",
    }
    gpus = tf.config.experimental.list_physical_devices("GPU")
    about["GPUs"] = str(len(gpus))
    if hasattr(tf.config.experimental, "tensor_float_32_execution_enabled"):
        about["TF32"] = "on" if tf.config.experimental.tensor_float_32_execution_enabled() else "off"
    return about
