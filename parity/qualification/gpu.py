"""`python -m parity.gpu` (`make gpu`): runs every check that a machine with GPUs needs, and writes a page about it.

Each check is one of this project's commands in a process of its own: the devices and their links; parity of the
workloads with deterministic kernels, and with TensorFloat-32; the speed of port and towers at one replica and at
several; NCCL where there are two cards; and where a step's time goes. Where there are fewer cards than replicas, each
is divided. Without a GPU all that can run on a CPU runs there, and the page says so. Exit status 0: every check ended
without an error; 1: not; 2: input that cannot be used.
"""

from __future__ import annotations

from collections.abc import Sequence

from absl import flags

from parity import flags as parity_flags  # noqa: F401  --json
from parity.qualification.gpu_checks import CheckResult, Machine, plan_checks, run_check
from parity.reports.progress import Progress
from workloads.selection import registry
from workloads.support import command, environment, json_file

flags.DEFINE_list("workloads", list(registry.NAMES), "Names of the workloads.")
flags.DEFINE_integer("most_replicas", None, "Most replicas. Default: one for each GPU, at least 2.", lower_bound=2)
flags.DEFINE_integer("steps", 20, "Number of steps to compare.", lower_bound=1)
flags.DEFINE_string("markdown", "docs/gpu.md", "File to write the page to; - prints it only.")

FLAGS = flags.FLAGS

#: Exit statuses of a check that ran: passed, no parity, parity not shown.
RAN = (0, 1, 3)


def check_flags() -> None:
    """Raises `InputError` for flags that cannot be used."""
    command.require_each(FLAGS.workloads, registry.NAMES, "--workloads")
    if not json_file.is_stdout(FLAGS.markdown):
        json_file.require_writable(FLAGS.markdown, "--markdown")


def count_gpus() -> int:
    """Returns the number of physical GPUs that TensorFlow sees; starts none of them."""
    import tensorflow as tf

    return len(tf.config.list_physical_devices("GPU"))


def run_checks(machine: Machine) -> list[CheckResult]:
    """Runs all checks one after the other, and shows the progress on stderr."""
    checks = list(plan_checks(machine, FLAGS.workloads, FLAGS.steps, FLAGS.size))
    progress = Progress("gpu")
    results = []
    for number, check in enumerate(checks):
        progress.update(number, len(checks), f"{check.part}: {check.workload}")
        results.append(run_check(check))
    progress.done()
    return results


def exit_status(results: Sequence[CheckResult]) -> int:
    """Returns 0 if every check ran to its end, whatever it found, else 1."""
    return 0 if all(result.status in RAN and result.result is not None for result in results) else 1


def main() -> int:
    """Runs the command; returns its exit status."""
    check_flags()
    environment.prepare(exact=False)
    from parity.qualification.gpu_page import page_lines

    gpus = count_gpus()
    machine = Machine(gpus, FLAGS.most_replicas or max(2, gpus))
    results = run_checks(machine)
    text = "\n".join(page_lines(results, machine, environment.describe())) + "\n"
    print(text, end="")
    if not json_file.is_stdout(FLAGS.markdown):
        json_file.write_text(FLAGS.markdown, text, "--markdown")
    command.write_json({"gpus": gpus, "checks": [result.to_json() for result in results]})
    return exit_status(results)


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
