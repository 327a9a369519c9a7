"""The legacy side in another interpreter: the true old TensorFlow writes a recording, this one compares it."""

from __future__ import annotations

import os
import shutil
import subprocess

from workloads.support.errors import InputError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROBE = "import tensorflow, absl; print(tensorflow.__version__)"


def version(interpreter):
    """TensorFlow's version in `interpreter`.

    Raises:
      InputError: it cannot be started, or has no TensorFlow.
    """
    if shutil.which(interpreter) is None:
        raise InputError(f"--legacy_python: got {interpreter!r}, no such interpreter")
    try:
        probe = subprocess.run(
            [interpreter, "-c", PROBE], capture_output=True, text=True, timeout=120, env=_environment()
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"--legacy_python: {interpreter!r} could not be run: {error}")
    if probe.returncode:
        raise InputError(
            "--legacy_python: {!r} cannot import tensorflow and absl: {}".format(
                interpreter, (probe.stderr.strip().splitlines() or ["no message"])[-1]
            )
        )
    return probe.stdout.strip().splitlines()[-1]


def record(interpreter, flags, out):
    """Runs `python -m legacy.record` with `flags` in `interpreter`, writing the recording `out`.

    Raises:
      InputError: the run failed; the message has its last line.
    """
    command = [interpreter, "-m", "legacy.record", "--out=" + out] + flags
    run = subprocess.run(command, capture_output=True, text=True, env=_environment())
    if run.returncode:
        lines = [line for line in run.stderr.strip().splitlines() if line.strip()] or ["no message"]
        raise InputError("--legacy_python: the recording failed: " + lines[-1])


def import_path():
    """PYTHONPATH of a child: the project and this folder, so that it finds the same workloads."""
    return os.pathsep.join([ROOT, os.getcwd()] + [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p])


def _environment():
    """This environment, with the project on the path and nothing of this interpreter's own."""
    keep = {key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "VIRTUAL_ENV")}
    keep["PYTHONPATH"] = import_path()
    keep["TF_CPP_MIN_LOG_LEVEL"] = "2"
    return keep


def same_flags(flag_values, modules, without=()):
    """Every flag that `modules` define, but for those named, as a child's command line has it."""
    flags = []
    for module in modules:
        for flag in flag_values.get_flags_for_module(module):
            if flag.value is not None and flag.name not in without:
                flags.append(f"--{flag.name}={_text(flag.value)}")
    return flags


def _text(value):
    if isinstance(value, list):
        return ",".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
