"""The legacy side in another interpreter: the original old TensorFlow writes a recording, this one compares it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence

from parity.processes.child_command import module_command, other_interpreter_environment, raise_user_error
from workloads.support.errors import InputError

PROBE = "import tensorflow, absl; print(tensorflow.__version__)"

#: The output of the probe: the version of TensorFlow.
VERSION = re.compile(r"\d+\.\d+\.\S+")

#: Seconds that an interpreter may take to import TensorFlow.
PROBE_TIMEOUT = 120.0


def tensorflow_version(interpreter: str) -> str:
    """Returns the version of TensorFlow in `interpreter`.

    Raises:
      InputError: it cannot be started, or has no TensorFlow.
    """
    if shutil.which(interpreter) is None:
        raise InputError(f"--legacy_python: got {interpreter!r}, no such interpreter")
    try:
        probe = subprocess.run(
            [interpreter, "-c", PROBE],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=PROBE_TIMEOUT,
            env=other_interpreter_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"--legacy_python: {interpreter!r} could not be run: {error}")
    if probe.returncode:
        reason = _last_line(probe.stderr)
        raise InputError(f"--legacy_python: {interpreter!r} cannot import tensorflow and absl: {reason}")
    version = (probe.stdout.strip().splitlines() or [""])[-1]
    if not VERSION.fullmatch(version):
        answer = repr(version[:80]) if version else "nothing"
        raise InputError(f"--legacy_python: {interpreter!r} answers {answer}, must be a Python with TensorFlow")
    return version


def record_legacy(interpreter: str, flags: Sequence[str], path: str) -> None:
    """Runs `python -m legacy.record` in another interpreter.

    Args:
      interpreter: the Python to run.
      flags: command-line flags of the job and of the towers.
      path: the recording (.npz) to write.

    Raises:
      InputError: the run failed; the message has its last line.
      UserError: the user's own code failed there.
    """
    command = [*module_command(interpreter, "legacy.record"), "--out=" + path, *flags]
    process = subprocess.run(
        command, capture_output=True, text=True, errors="replace", env=other_interpreter_environment()
    )
    raise_user_error(process.returncode, process.stderr)
    if process.returncode:
        raise InputError("--legacy_python: the recording failed: " + _last_line(process.stderr))
    if not os.path.exists(path):
        raise InputError(f"--legacy_python: {interpreter!r} ended without an error and without a recording")


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()] or ["no message"]
    return lines[-1]
