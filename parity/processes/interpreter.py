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
            [interpreter, "-c", PROBE], capture_output=True, text=True, timeout=120, env=_other_environment()
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
    command = module_command(interpreter, "legacy.record") + ["--out=" + out] + flags
    run = subprocess.run(command, capture_output=True, text=True, env=_other_environment())
    if run.returncode:
        lines = [line for line in run.stderr.strip().splitlines() if line.strip()] or ["no message"]
        raise InputError("--legacy_python: the recording failed: " + lines[-1])


def module_command(interpreter, module):
    """The beginning of a command line that runs a module of this project, as `python -m` would.

    `python -m` looks in the current folder first, where a user may have a package `legacy` of his own; here the
    project's is imported before that folder is searched.
    """
    start = (
        "import runpy, sys\n"
        f"sys.path[:] = [{ROOT!r}] + [place for place in sys.path if place]\n"
        f"import {module.partition('.')[0]}\n"
        "del sys.path[0]\n"
        f"runpy.run_module({module!r}, run_name='__main__', alter_sys=True)\n"
    )
    return [interpreter, "-c", start]


def environment():
    """The environment of a child in this interpreter, which finds this project and the modules of this folder."""
    return dict(os.environ, PYTHONPATH=_path(ROOT, os.getcwd()))


def _other_environment():
    """The environment of a child in another interpreter: nothing of this one's own.

    The project's folder is left out, as it may be the one that this interpreter's packages are installed in;
    `module_command` names it.
    """
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "VIRTUAL_ENV")}
    return dict(kept, PYTHONPATH=_path(os.getcwd()), TF_CPP_MIN_LOG_LEVEL="2")


def _path(*first):
    return os.pathsep.join([*first] + [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p])


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
