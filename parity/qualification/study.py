"""`python -m parity.study --name=sync_or_async`: answers a question that the write-ups leave open, with numbers.

sync_or_async: final losses of synchronous and asynchronous training on equal examples, at several learning rates and
stalenesses, over several seeds, with 95 % intervals; where it diverges; and which of the two guesses holds when.
"""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING

from absl import flags

from parity.processes.pool import process_pool
from parity.reports.progress import Progress
from workloads.support import command, environment, json_file
from workloads.support.errors import require

if TYPE_CHECKING:
    from parity.experiments.images import LabelledImages
    from parity.experiments.sync_or_async import Outcome

NAMES = ("sync_or_async",)
WORKLOADS = ("cifar_cnn", "regression")

flags.DEFINE_enum("name", "sync_or_async", NAMES, "Name of the study.")
flags.DEFINE_list("workloads", list(WORKLOADS), "Names of the workloads: " + ", ".join(WORKLOADS) + ".")
flags.DEFINE_integer("replicas", 4, "Number of replicas of every run.")
flags.DEFINE_integer("steps", 500, "Number of steps of every run, of one global batch each.")
flags.DEFINE_integer("seeds", 6, "Number of runs of each setting, with seeds from 0 on.")
flags.DEFINE_string(
    "data_dir", None, "Folder with CIFAR-10 or MNIST files for cifar_cnn. Default: scikit-learn's scanned digits."
)
flags.DEFINE_integer("processes", 2, "Number of processes that share the work.")
command.define_json()
flags.DEFINE_string("markdown", None, "File to write tables and answers to, as Markdown.")

FLAGS = flags.FLAGS

#: Settings that one process runs.
TASKS_PER_PROCESS = 24


def check_flags() -> None:
    """Raises `InputError` for flags that cannot be used."""
    from parity.experiments import intervals

    command.require_each(FLAGS.workloads, WORKLOADS, "--workloads")
    require(2 <= FLAGS.seeds <= intervals.MOST, "--seeds", FLAGS.seeds, f"from 2 to {intervals.MOST}")
    require(FLAGS.replicas >= 1, "--replicas", FLAGS.replicas, "must be at least 1")
    require(FLAGS.steps >= 10, "--steps", FLAGS.steps, "must be at least 10")
    require(FLAGS.processes >= 1, "--processes", FLAGS.processes, "must be at least 1")
    if FLAGS.markdown:
        json_file.require_writable(FLAGS.markdown, "--markdown")


def images_from_flags() -> LabelledImages | None:
    """Returns the images of `--data_dir`, or scanned digits; None if no workload takes images."""
    from parity.experiments.images import LabelledImages, scanned_digits
    from workloads.data import folder
    from workloads.selection import registry

    if "cifar_cnn" not in FLAGS.workloads:
        return None
    if not FLAGS.data_dir:
        return scanned_digits()
    _, images, labels, description = folder.open_folder(FLAGS.data_dir, registry.get("cifar_cnn", "small"))
    return LabelledImages(images, labels, description)


def run_study(images: LabelledImages | None) -> list[Outcome]:
    """Runs all cases in several processes, and shows the progress on stderr."""
    from parity.experiments import sync_or_async

    settings = sync_or_async.plan_cases(FLAGS.workloads, FLAGS.replicas, FLAGS.steps, FLAGS.seeds)
    outcomes: list[Outcome] = []
    progress = Progress("study")
    run_setting = functools.partial(sync_or_async.run_cases, images=images)
    with process_pool(FLAGS.processes, TASKS_PER_PROCESS) as pool:
        for of_setting in pool.imap_unordered(run_setting, settings):
            outcomes += of_setting
            progress.update(len(outcomes), len(settings) * FLAGS.seeds, of_setting[0].case.workload)
    progress.done()
    return outcomes


def write_markdown(text: str) -> None:
    """Writes the page to the file that `--markdown` names, if it names one.

    Raises:
      InputError: the file cannot be written.
    """
    if FLAGS.markdown and not json_file.is_stdout(FLAGS.markdown):  # where the page is printed anyway
        json_file.write_text(FLAGS.markdown, text, "--markdown")


def main() -> int:
    """Runs the command; returns its exit status."""
    check_flags()
    environment.prepare(exact=True)
    from parity.experiments.loss_table import loss_tables
    from parity.experiments.study_page import study_lines

    start = time.monotonic()
    images = images_from_flags()
    outcomes = run_study(images)
    about = (
        f"{len(outcomes)} runs: {FLAGS.replicas} replicas, {FLAGS.steps} steps, seeds 0 to {FLAGS.seeds - 1}"
        f"{'' if images is None else '; images: ' + images.description}."
    )
    lines = study_lines(loss_tables(outcomes), FLAGS.replicas, about, time.monotonic() - start)
    text = "\n".join(lines) + "\n"
    print(text, end="")
    write_markdown(text)
    command.write_json({"runs": [outcome.to_json() for outcome in outcomes], "environment": environment.describe()})
    return 0


console = command.entry(main, __doc__)

if __name__ == "__main__":
    console()
