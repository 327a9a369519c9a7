"""Interpreters with TensorFlow 1.x on this machine, for `--legacy_python`."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator

from parity.installation.check import Check
from parity.processes.child_command import ROOT
from parity.processes.interpreter import tensorflow_version
from workloads.support.errors import InputError

#: Environment variable that names an interpreter with TensorFlow 1.x.
VARIABLE = "LEGACY_PYTHON"

SUBJECT = "older TensorFlow"

#: How to get an interpreter with TensorFlow 1.x.
MAKING = "in the project's folder, `make legacy-python` makes one from Python 3.7"

#: The environment that `make legacy-python` makes.
MADE = os.path.join(ROOT, ".venv-tf1", "bin", "python")

#: Versions of Python that TensorFlow 1.x was made for and that can run this project's `legacy`.
VERSIONS = ("3.7",)

#: Scripts of pyenv that stand for one of several interpreters, which are found themselves.
SHIMS = os.sep + "shims" + os.sep


def named_interpreter() -> str | None:
    """Returns the interpreter that $LEGACY_PYTHON names, or that `make legacy-python` made; None without either."""
    candidates = (os.environ.get(VARIABLE), MADE)
    return next((path for path in candidates if path and os.path.exists(path)), None)


def interpreters_here() -> Iterator[str]:
    """Yields the paths of interpreters that may have TensorFlow 1.x, those that are named first, each once."""
    known = set()
    named = [named_interpreter(), os.path.join(".venv-tf1", "bin", "python")]
    on_path = [shutil.which(f"python{version}") for version in VERSIONS]
    pyenv = [
        path
        for version in VERSIONS
        for path in sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python")))
    ]
    for path in (*named, *on_path, *pyenv):
        if path and os.path.exists(path) and os.path.abspath(path) not in known and SHIMS not in path:
            known.add(os.path.abspath(path))
            yield path


def interpreter_checks() -> Iterator[Check]:
    """Yields a check of each interpreter; where none has TensorFlow 1.x, the last one says how to make one."""
    named, found = os.environ.get(VARIABLE), False
    if named and not os.path.exists(named):
        yield Check(SUBJECT, VARIABLE, False, f"names {named}, which does not exist", needed=False)
    for path in interpreters_here():
        check = _interpreter_check(path)
        found = found or check.works
        yield check
    if not found:
        yield Check(SUBJECT, "TensorFlow 1.x", False, f"in no interpreter here; {VARIABLE} may name one", False, MAKING)


def _interpreter_check(path: str) -> Check:
    try:
        version = tensorflow_version(path)
    except InputError:
        return Check(SUBJECT, "an old Python", False, f"{path}, without TensorFlow", needed=False)
    if version.startswith("1."):
        return Check(SUBJECT, f"TensorFlow {version}", True, f"--legacy_python={path}", needed=False)
    return Check(SUBJECT, f"TensorFlow {version}", False, f"{path}, not 1.x", needed=False)
