"""`python -m parity.gpu` (`make gpu`): runs every check that a machine with GPUs needs, and writes a page about it.

Each check is one of this project's commands in a process of its own: the devices and their links; parity of the
workloads with deterministic kernels, and with TensorFloat-32; the speed of port and towers at one replica and at
several; NCCL where there are two cards; and where a step's time goes. Where there are fewer cards than replicas, each
is divided. Without a GPU all that can run on a CPU runs there, and the page says so. `--json` holds each result as soon
as it is there, and `--resume` goes on from it. Exit status 0: every check ended without an error; 1: not; 2: input that
cannot be used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent import futures

from absl import flags

from parity import flags as parity_flags  # noqa: F401  --json
from parity.qualification import gpu_checks
from parity.qualification.gpu_checks import CheckResult, GpuCheck, GpuMachine, run_check
from parity.speed.names import INPUTS
from workloads.progress.progress import Progress
from workloads.selection import registry
from workloads.support.command_line import command
from workloads.support.errors import InputError, require
from workloads.support.files import json_file
from workloads.support.machine import environment

flags.DEFINE_list("workloads", list(registry.NAMES), "Names of the workloads.")
flags.DEFINE_integer("most_replicas", None, "Most replicas. Default: one for each GPU, at least 2.", lower_bound=2)
flags.DEFINE_integer("steps", 20, "Number of steps to compare.", lower_bound=1)
flags.DEFINE_list("parts", list(gpu_checks.PARTS), "Parts of the page to run, of: " + ", ".join(gpu_checks.PARTS) + ".")
flags.DEFINE_list("inputs", list(INPUTS), "Inputs whose speed is measured; see parity.benchmark.")
flags.DEFINE_integer("blocks", 20, "Timed blocks per program; an even number, at least 10.", lower_bound=10)
flags.DEFINE_integer("jobs", 1, "Number of checks that run side by side, of those that measure no time.", lower_bound=1)
flags.DEFINE_boolean("resume", False, "Run only the checks whose results are not in --json yet.")
flags.DEFINE_string("markdown", "docs/gpu.md", "File to write the page to; - prints it only.")

FLAGS = flags.FLAGS

#: Exit statuses of a check that ran: passed, no parity, parity not shown.
RAN = (0, 1, 3)


def check_flags() -> None:
    """Raises `InputError` for flags that cannot be used."""
    command.require_each(FLAGS.workloads, registry.NAMES, "--workloads")
    command.require_each(FLAGS.parts, list(gpu_checks.PARTS), "--parts")
    require(not FLAGS.resume or FLAGS.json, "--resume", FLAGS.resume, "needs --json, the file of the checks that ran")
    if not json_file.is_stdout(FLAGS.markdown):
        json_file.require_writable(FLAGS.markdown, "--markdown")


def count_gpus() -> int:
    """Returns the number of physical GPUs that TensorFlow sees; starts none of them."""
    import tensorflow as tf

    return len(tf.config.list_physical_devices("GPU"))


def read_results(path: str) -> list[CheckResult]:
    """Returns the results in a file of `--json`; none if there is no such file.

    Raises:
      InputError: the file is not one that this command wrote.
    """
    if not os.path.exists(path):
        return []
    try:
        with open(path, encoding="utf-8") as file:
            return [CheckResult.from_json(entry) for entry in json.load(file)["checks"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"--resume: cannot read the checks in {path}: {type(error).__name__}: {error}") from error


def run_checks(machine: GpuMachine, known: Sequence[CheckResult]) -> list[CheckResult]:
    """Runs the checks that are not known yet, shows the progress on stderr, and writes each result to `--json`.

    Args:
      machine: the GPUs.
      known: results of an earlier run; those that failed run again.

    Returns:
      the results, in the order of the page.
    """
    timing = (f"--blocks={FLAGS.blocks}", f"--most_blocks={FLAGS.blocks}", f"--inputs={','.join(FLAGS.inputs)}")
    titles = [gpu_checks.PARTS[part] for part in FLAGS.parts]
    planned = gpu_checks.plan_checks(machine, FLAGS.workloads, FLAGS.steps, FLAGS.size, timing)
    done = {result.check: result for result in known if result.result is not None}
    checks = [check for check in planned if check.part in titles or check in done]
    left = [check for check in checks if check not in done]
    progress = Progress("gpu", "check")

    def run(check: GpuCheck) -> None:
        progress.update(len(done), len(checks), f"{check.part}: {check.workload}")
        done[check] = run_check(check)
        if FLAGS.json and not json_file.is_stdout(FLAGS.json):
            write_results(machine, [done[one] for one in checks if one in done])

    with futures.ThreadPoolExecutor(FLAGS.jobs) as pool:
        list(pool.map(run, [check for check in left if check.part not in gpu_checks.TIMED]))
    for check in left:
        if check.part in gpu_checks.TIMED:
            run(check)
    progress.done()
    return [done[check] for check in checks]


def write_results(machine: GpuMachine, results: Sequence[CheckResult]) -> None:
    """Writes the results to `--json`, if that is asked for."""
    command.write_json({"gpus": machine.gpus, "checks": [result.to_json() for result in results]}, FLAGS)


def exit_status(results: Sequence[CheckResult]) -> int:
    """Returns 0 if every check ran to its end, whatever it found, else 1."""
    return 0 if all(result.status in RAN and result.result is not None for result in results) else 1


def main() -> int:
    """Runs the command; returns its exit status."""
    check_flags()
    environment.prepare(exact=False)
    from parity.qualification.gpu_page import page_lines

    gpus = count_gpus()
    machine = GpuMachine(gpus, FLAGS.most_replicas or max(2, gpus))
    results = run_checks(machine, read_results(FLAGS.json) if FLAGS.resume else ())
    text = "\n".join(page_lines(results, machine, environment.describe())) + "\n"
    print(text, end="")
    if not json_file.is_stdout(FLAGS.markdown):
        json_file.write_text(FLAGS.markdown, text, "--markdown")
    write_results(machine, results)
    return exit_status(results)


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
