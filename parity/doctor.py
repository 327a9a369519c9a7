"""`python -m parity.doctor`: what is installed, what runs here, and the next command to type.

Looks at Python and the packages, TensorFlow (towers in a session, replicas under a strategy, GPUs, NCCL, oneDNN), older
interpreters for `--legacy_python`, and optional packages. Exit status 0: everything that is needed works; 1: the last
line says what to do.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from parity.installation.check import Check, first_failure, table_lines
from parity.installation.packages import package_checks, read_requirements

try:
    from workloads.support.command_line import command
except ImportError as error:  # no flags without absl: the first thing that an empty environment lacks
    if error.name != "absl":
        raise
    sys.exit("error: absl-py is not installed; in the project's folder: python -m pip install .")

command.define_json()

#: Commands to try where everything works.
FIRST = "python -m parity.verify --workload=regression"
MORE = (
    ("five systems, proven and timed", "python -m parity"),
    ("a saved graph of TensorFlow 1.x", "python -m legacy.inspect model.ckpt-1000.meta"),
)


def examine() -> Iterator[Check]:
    """Yields all checks; those that TensorFlow takes part in are left out where packages are missing."""
    packages = list(package_checks(read_requirements()))
    yield from (check for check in packages if check.needed)
    if first_failure(packages) is None:
        from parity.installation.old_interpreters import interpreter_checks
        from parity.installation.tensorflow_checks import tensorflow_checks

        yield from tensorflow_checks()
        yield from interpreter_checks()
    yield from (check for check in packages if not check.needed)


def verdict_lines(checks: list[Check]) -> list[str]:
    """Returns the end of the page: what to do about the first failure, or the commands to try."""
    failure = first_failure(checks)
    if failure is not None:
        return [f"{failure.name} fails: {failure.detail}", f"next: {failure.remedy}"]
    width = max(len(what) for what, _ in MORE)
    return ["everything that is needed works", f"next: {FIRST}", *(f"  {what:{width}}  {text}" for what, text in MORE)]


def doctor_json(checks: list[Check]) -> dict[str, Any]:
    """Returns the content of `--json`: "works", "next", and "checks" with their states."""
    failure = first_failure(checks)
    return {
        "works": failure is None,
        "next": FIRST if failure is None else failure.remedy,
        "checks": [{**vars(check), "state": check.state} for check in checks],
    }


def _kept(checks: Iterator[Check], into: list[Check]) -> Iterator[Check]:
    """Yields checks and appends them to a list."""
    for check in checks:
        into.append(check)
        yield check


def main() -> int:
    """Prints the page, line by line as the checks are made."""
    checks: list[Check] = []
    for line in table_lines(_kept(examine(), checks)):
        print(line, flush=True)
    print("")
    print("\n".join(verdict_lines(checks)))
    command.write_json(doctor_json(checks))
    return 0 if first_failure(checks) is None else 1


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
